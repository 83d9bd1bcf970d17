//! Exact answers. Times are in seconds, rates a second, shares from 0 to 1.

use super::law::DurationLaw;
use crate::random::hash_bytes;

/// The share of arrivals that `servers` without a queue lose, at an offered load of `load` Erlang (Erlang B; Kleinrock,
/// Queueing Systems I, section 3.7), by the usual recursion.
pub(super) fn erlang_b(servers: u32, load: f64) -> f64 {
    (1..=servers).fold(1.0, |loss, server| load * loss / (f64::from(server) + load * loss))
}

/// The share of arrivals that wait for one of `servers` (Erlang C; Kleinrock I, section 3.5).
pub(super) fn erlang_c(servers: u32, load: f64) -> f64 {
    let (loss, busy) = (erlang_b(servers, load), load / f64::from(servers));
    loss / (1.0 - busy * (1.0 - loss))
}

/// The mean wait in M/M/c.
pub(super) fn mmc_wait(servers: u32, rate: f64, service: f64) -> f64 {
    erlang_c(servers, rate * service) * service / (f64::from(servers) - rate * service)
}

/// The share of arrivals that M/M/c/K loses: the probability that all `servers` and all `queue` places are taken, where
/// each state's is the one before it times load over busy servers (Kleinrock I, section 3.1).
pub(super) fn mmck_loss(servers: u32, queue: u32, load: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for present in 1..=servers + queue {
        term *= load / f64::from(present.min(servers));
        sum += term;
    }
    term / sum
}

/// The mean wait in M/G/1, first come first served (Pollaczek–Khinchine; Kleinrock I, section 5.6).
pub(super) fn pollaczek_khinchine(rate: f64, service: &DurationLaw) -> f64 {
    rate * service.second_moment / (2.0 * (1.0 - rate * service.mean))
}

/// The mean wait in D/M/1: `service σ / (1 - σ)`, where σ is the share of arrivals that wait, the solution below 1 of
/// `σ = exp(-(1 - σ) / (rate service))` (Kleinrock I, section 6.4).
pub(super) fn dm1_wait(rate: f64, service: f64) -> f64 {
    let waiting = (0..1000).fold(0.0, |share, _| libm::exp((share - 1.0) / (rate * service)));
    service * waiting / (1.0 - waiting)
}

/// How much longer a job takes on average in M/G/1 with processor sharing than alone, whatever the law (Kleinrock,
/// Queueing Systems II, section 4.4).
pub(super) fn sharing_wait(rate: f64, service: f64) -> f64 {
    let busy = rate * service;
    service * busy / (1.0 - busy)
}

/// Requests a second of `clients` that each think for `think` on average between requests to one server (M/M/1//N, the
/// machine repair model; Kleinrock I, section 3.8): k of them wait or are served with probability
/// `p(k) = p(0) N!/(N-k)! (service/think)^k`.
pub(super) fn repair_throughput(clients: u32, think: f64, service: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for present in 0..clients {
        term *= f64::from(clients - present) * service / think;
        sum += term;
    }
    (1.0 - 1.0 / sum) / service
}

/// The share of time that an alternating renewal process is up (Ross, Stochastic Processes, section 3.4).
pub(super) fn availability(to_failure: f64, to_repair: f64) -> f64 {
    to_failure / (to_failure + to_repair)
}

/// The probability that fewer than `needed` of `count` are up, each with probability `up` by itself.
pub(super) fn fewer_up(needed: u32, count: u32, up: f64) -> f64 {
    let mut ways = 1.0;
    let mut sum = 0.0;
    for present in 0..needed {
        sum += ways * libm::pow(up, f64::from(present)) * libm::pow(1.0 - up, f64::from(count - present));
        ways *= f64::from(count - present) / f64::from(present + 1);
    }
    sum
}

/// A health check at random phases: seconds between probes, until a timeout, for a probe's way there and back, and how many
/// results in a row count (HCK-10).
///
/// A probe finds the backend as it is half a round trip after its start. The first probe to find it changed does so half
/// an interval after the change on average. Of several probers with phases of their own one decides, the k-th of n to
/// find it changed, which does so k / (n + 1) intervals after it on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Checking {
    pub(super) interval: f64,
    pub(super) timeout: f64,
    pub(super) threshold: u32,
    pub(super) round_trip: f64,
    /// Intervals until the prober that decides finds the change, on average.
    pub(super) phase: f64,
}

impl Checking {
    /// From the change to the start of the probe whose result decides.
    fn last_start(self) -> f64 {
        self.interval * (self.phase + f64::from(self.threshold - 1)) - self.round_trip / 2.0
    }

    /// From a silent death to the verdict: the last probe times out.
    pub(super) fn silence(self) -> f64 {
        self.last_start() + self.timeout
    }

    /// From the change to the verdict, if probes are answered: with a refusal, or with success by one that is back.
    pub(super) fn answer(self) -> f64 {
        self.last_start() + self.round_trip
    }

    /// From the end of a silence to the verdict, where two successes or more decide: the probe under way is the first of them if
    /// it has not sent its last SYN.
    pub(super) fn revival(self) -> f64 {
        debug_assert!(self.threshold > 1, "one success comes when a SYN does");
        self.answer() - syn_times(self.timeout).into_iter().fold(0.0, f64::max)
    }
}

/// When a probe that nobody answers sends SYNs, in seconds: at 0, 1, 3, 7 s … before its timeout (RFC 6298).
pub(super) fn syn_times(timeout: f64) -> Vec<f64> {
    (0..60).map(|copy| libm::pow(2.0, f64::from(copy)) - 1.0).take_while(|time| *time < timeout).collect()
}

/// The share of time that a backend with exponential times `up` and `down` (means) is held unhealthy by probes that it
/// answers at once while it is up, and not at all while it is down, where one result decides. Probes send SYNs at these `syns`.
///
/// A success is known at once, a failure after the timeout. Until then the backend is held unhealthy as long as it was down at
/// all SYNs of the probe before and of this one so far; from then on if this one has failed.
pub(super) fn seen_unhealthy(up: f64, down: f64, interval: f64, timeout: f64, syns: &[f64]) -> f64 {
    let unavailable = 1.0 - availability(up, down);
    // Whether it is down then, if it was down a time before.
    let still = |time: f64| unavailable + (1.0 - unavailable) * libm::exp(-time * (1.0 / up + 1.0 / down));
    let ends = syns[1..].iter().chain([&timeout]);
    let waits: Vec<f64> = syns.iter().zip(ends).map(|(syn, end)| end - syn).collect();
    let (last, others) = waits.split_last().expect("a probe sends a SYN");
    let fails = unavailable * others.iter().map(|wait| still(*wait)).product::<f64>();
    // Down at all SYNs of the probe before, and at the first of this one.
    let mut both = fails * still(interval - timeout + last);
    let mut unhealthy = (interval - timeout) * fails;
    for wait in waits {
        unhealthy += both * wait;
        both *= still(wait);
    }
    unhealthy / interval
}

/// The mean wait of data that is sent again until it gets through, with probability `lost` of each loss: after `probe` for
/// the first time, then after `timeout`, twice that, and so on. The copy number k >= 1 comes `probe + (2^(k - 1) - 1) timeout`
/// after the first sending.
pub(super) fn data_wait(probe: f64, timeout: f64, lost: f64) -> f64 {
    lost * probe + timeout * lost * lost / (1.0 - 2.0 * lost)
}

/// How a handshake ends whose packets are lost with a probability each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// Seconds beyond the round trip, of those that are done in time.
    pub(super) wait: f64,
    /// The share of these in which a SYN-ACK was lost.
    pub(super) late: f64,
    /// The share that is given up.
    pub(super) given_up: f64,
}

/// Handshakes at which client and server each send again after 1, 3, 7 s … what the other does not answer: the client its SYN,
/// from the first on, the server its SYN-ACK, from the first SYN on that arrives. Both stop before `deadline`.
pub(super) fn handshake(lost: f64, deadline: f64) -> Handshake {
    let syns = syn_times(deadline);
    let through = 1.0 - lost;
    let (mut done, mut waited, mut late) = (0.0, 0.0, 0.0);
    for (number, arrived) in syns.iter().enumerate() {
        let mut open = libm::pow(lost, number as f64) * through;
        done += open * through;
        waited += open * through * arrived;
        open *= lost;
        // Then whichever gets through first: both ways of a SYN and its answer, or one of a SYN-ACK alone.
        let own = syns[1..].iter().map(|after| (arrived + after, through));
        let later = syns[number + 1..].iter().map(|at| (*at, through * through));
        let mut tries: Vec<(f64, f64)> = own.chain(later).filter(|(at, _)| *at < deadline).collect();
        tries.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (at, chance) in tries {
            done += open * chance;
            late += open * chance;
            waited += open * chance * at;
            open *= 1.0 - chance;
        }
    }
    Handshake { wait: waited / done, late: late / done, given_up: 1.0 - done }
}

/// The probability that the residual life of a wait found under way is longer than `seconds`, where waits are Pareto of
/// shape 1 from `shortest` to `longest`: the integral of their survival function from there on, over their mean (Ross,
/// Stochastic Processes, section 3.4).
pub(super) fn residual_survival(shortest: f64, longest: f64, seconds: f64) -> f64 {
    let span = libm::log(longest / shortest);
    let mean = shortest * span / (1.0 - shortest / longest);
    if seconds < shortest {
        return 1.0 - seconds / mean;
    }
    (libm::log(longest / seconds) - 1.0 + seconds / longest) / span
}

/// With rendezvous hashing, when one of `backends` goes or comes: the share of clients that move, and of the others (HASH-1).
pub(super) fn remapped_by_rendezvous(backends: u32) -> (f64, f64) {
    (1.0 / f64::from(backends), 0.0)
}

/// The same with Maglev tables of `size` entries over `ig-1`, `ig-2`, …: the mean over which of them it is.
pub(super) fn remapped_by_maglev(backends: u32, size: usize) -> (f64, f64) {
    let all = maglev_table(&(1..=backends).collect::<Vec<_>>(), size);
    let (mut moved, mut kept, mut needless) = (0, 0, 0);
    for gone in 1..=backends {
        let others: Vec<u32> = (1..=backends).filter(|backend| *backend != gone).collect();
        for (before, after) in all.iter().zip(maglev_table(&others, size)) {
            moved += u64::from(*before != after);
            // While it is gone it can't be kept; when it comes back everybody could keep what he has.
            kept += 1 + u64::from(*before != gone);
            needless += 2 * u64::from(*before != after && *before != gone);
        }
    }
    (moved as f64 / (size as f64 * f64::from(backends)), needless as f64 / kept as f64)
}

/// The owner of each entry as section 3.4 of the paper says it: preference lists, of which each owner takes its next free entry
/// in turn.
fn maglev_table(backends: &[u32], size: usize) -> Vec<u32> {
    let preferences = |backend: &u32| {
        let name = format!("ig-{backend}");
        let hash = |seed, range: usize| (hash_bytes(seed, name.as_bytes()) % range as u64) as usize;
        let (offset, skip) = (hash(1, size), hash(2, size - 1) + 1);
        (0..size).map(move |step| (offset + step * skip) % size)
    };
    // Turns go by name.
    let mut backends = backends.to_vec();
    backends.sort_by_key(|backend| format!("ig-{backend}"));
    let mut lists: Vec<_> = backends.iter().map(preferences).collect();
    let mut owners = vec![0; size];
    for turn in 0..size {
        let whose = turn % backends.len();
        let free = lists[whose].find(|entry| owners[*entry] == 0);
        owners[free.expect("as many entries are free as turns are left")] = backends[whose];
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found}, expected {expected}");
    }

    #[test]
    fn erlang_formulas_have_the_values_of_the_tables() {
        // Printed tables of Erlang B: 10 lines carry 4.461 Erlang at 1 % loss, 20 lines 13.182 at 2 %.
        assert_near(erlang_b(10, 4.461), 0.01, 1e-5);
        assert_near(erlang_b(20, 13.182), 0.02, 1e-5);
        assert_near(erlang_b(5, 3.0), 0.1101, 5e-5);
        // One server: everybody who finds it busy waits. Two: 2 rho² / (1 + rho).
        assert_near(erlang_c(1, 0.7), 0.7, 1e-12);
        assert_near(erlang_c(2, 1.5), 2.0 * 0.75 * 0.75 / 1.75, 1e-12);
    }

    #[test]
    fn queues_agree_where_they_are_the_same() {
        // M/M/1 at rho = 0.7 and a service of 10 ms waits 70/3 ms.
        assert_near(mmc_wait(1, 70.0, 0.01), 0.07 / 3.0, 1e-12);
        assert_near(pollaczek_khinchine(70.0, &DurationLaw::exponential(0.01)), 0.07 / 3.0, 1e-12);
        assert_near(sharing_wait(70.0, 0.01), 0.07 / 3.0, 1e-12);
        // M/D/1 waits half as long.
        assert_near(pollaczek_khinchine(70.0, &DurationLaw::constant(0.01)), 0.07 / 6.0, 1e-12);
        // Where arrivals are even, σ = exp(-2 (1 - σ)) = 0.2032 at half load.
        assert_near(dm1_wait(0.5, 1.0), 0.2032 / 0.7968, 1e-4);
        // Without a queue M/M/c/K is Erlang B; M/M/1/K loses (1 - rho) rho^K / (1 - rho^(K + 1)).
        assert_near(mmck_loss(5, 0, 3.0), erlang_b(5, 3.0), 1e-12);
        assert_near(mmck_loss(1, 2, 0.5), 0.5 * 0.125 / (1.0 - 0.0625), 1e-12);
        // One client never waits; two of mean 1 for both: p(0) = 1/5.
        assert_near(repair_throughput(1, 1.0, 0.25), 0.8, 1e-12);
        assert_near(repair_throughput(2, 1.0, 1.0), 0.8, 1e-12);
    }

    #[test]
    fn shares_of_backends_that_are_up() {
        assert_near(availability(100.0, 25.0), 0.8, 1e-12);
        assert_near(fewer_up(1, 4, 0.8), 0.0016, 1e-12);
        assert_near(fewer_up(2, 4, 0.8), 0.0272, 1e-12);
        assert_near(fewer_up(4, 4, 0.8), 1.0 - 0.4096, 1e-12);
        // Probes far apart are independent: half of them fail, and the timeout hides those that follow a success.
        assert_near(seen_unhealthy(1.0, 1.0, 1000.0, 500.0, &[0.0]), 0.5 * 0.75, 1e-12);
        assert_near(seen_unhealthy(100.0, 25.0, 5.0, 0.0, &[0.0]), 0.2, 1e-12);
        // Two SYNs far apart fail together half as often as one, and each hides half of the failures before its time.
        let two = seen_unhealthy(1.0, 1.0, 3000.0, 2000.0, &[0.0, 1000.0]);
        assert_near(two, (0.25 / 2.0 + 0.25 / 4.0 + 0.25) / 3.0, 1e-12);
    }

    #[test]
    fn detection_takes_what_hck_10_says() {
        let checking = Checking { interval: 5.0, timeout: 5.0, threshold: 2, round_trip: 0.0, phase: 0.5 };
        // The middle of (10, 15] and of (5, 10].
        assert_near(checking.silence(), 12.5, 1e-12);
        assert_near(checking.answer(), 7.5, 1e-12);
        // Three of five seconds there is another SYN to come, which saves an interval.
        assert_eq!(syn_times(5.0), [0.0, 1.0, 3.0]);
        assert_near(checking.revival(), 4.5, 1e-12);
    }

    #[test]
    fn senders_wait_longer_each_time() {
        // 0.2 with 1/10, 0.4 with 1/100, 0.8 with 1/1000 …, each but the last of these and later ones.
        let sum: f64 = (1..60)
            .map(|copy| libm::pow(0.1, f64::from(copy)) * 0.9 * 0.1 * libm::pow(2.0, f64::from(copy)))
            .sum();
        assert_near(data_wait(0.2, 0.2, 0.1), sum, 1e-12);
    }

    #[test]
    fn handshakes_get_through_by_either_side() {
        // One SYN: both ways, or never.
        let one = handshake(0.5, 1.0);
        assert_near(one.given_up, 0.75, 1e-12);
        assert_near(one.wait + one.late, 0.0, 1e-12);
        // Two, and a SYN-ACK if the first arrived: at 0 with 1/4; at 1 with 1/4 (1/2 + 1/2 1/4) of the SYN-ACK and the SYN,
        // and with 1/2 1/4 of the second SYN alone.
        let two = handshake(0.5, 1.5);
        let (late, early) = (0.25 * 0.625, 0.125);
        assert_near(two.given_up, 1.0 - 0.25 - late - early, 1e-12);
        assert_near(two.wait, (late + early) / (0.25 + late + early), 1e-12);
        assert_near(two.late, late / (0.25 + late + early), 1e-12);
    }

    #[test]
    fn residual_lives_last_from_always_to_never() {
        let survival = |seconds| residual_survival(30.0, 540.0, seconds);
        assert_near(survival(0.0), 1.0, 1e-12);
        assert_near(survival(540.0), 0.0, 1e-12);
        assert_near(survival(30.0 - 1e-9), survival(30.0), 1e-9);
        assert_near(survival(60.0), 0.453, 5e-4);
    }
}
