//! Managed instance groups that follow the mean utilization of their members, over all of their zones at once.
//!
//! At fixed intervals the autoscaler recommends as many members as would bring the utilization of those past their
//! cool-down to the target. New members serve after their boot time; members go only when the highest recommendation of
//! the stabilization period is below their number.

use std::collections::VecDeque;

use super::calendar::Calendar;
use super::event::{BackendStep, Event};
use super::machines::Machines;
use super::scenario::{AutoscalingPolicy, Scenario};
use super::station::Station;
use crate::ids::{BackendId, GroupId, IdVec};
use crate::time::SimTime;

#[derive(Debug)]
pub(super) struct Autoscaler {
    policy: AutoscalingPolicy,
    members: Vec<Member>,
    recommended: VecDeque<(SimTime, u32)>,
}

/// An instance that is, or may be, in the group, in the order of their numbers.
#[derive(Debug)]
struct Member {
    backend: BackendId,
    state: MemberState,
    /// The worker time, in nanoseconds, that it had given when it was last looked at.
    busy_nanos: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberState {
    Absent,
    /// It was ordered, and does not serve yet.
    Booting,
    /// It serves; from this time on its utilization counts.
    Present(SimTime),
}

impl Autoscaler {
    pub(super) fn of(scenario: &Scenario, group: GroupId) -> Option<Self> {
        let policy = scenario.groups[group].autoscaling?;
        let members = scenario.backends.pairs().filter(|(_, spec)| spec.group == group);
        let member = |(backend, _)| Member {
            backend,
            state: match scenario.is_configured(backend) {
                true => MemberState::Present(SimTime::ZERO),
                false => MemberState::Absent,
            },
            busy_nanos: 0,
        };
        Some(Self { policy, members: members.map(member).collect(), recommended: VecDeque::new() })
    }

    pub(super) fn plan(&self, number: u32, calendar: &mut Calendar) {
        calendar.plan(calendar.now() + self.policy.evaluation_interval, Event::Autoscale { number });
    }

    /// Looks at its group, orders members, and gives those that it removes.
    pub(super) fn scale(
        &mut self,
        number: u32,
        machines: &mut Machines<'_>,
        calendar: &mut Calendar,
    ) -> Vec<BackendId> {
        let (ordered, removed) = self.evaluate(calendar.now(), &mut machines.stations);
        let serves = calendar.now() + self.policy.boot_time;
        for backend in ordered {
            calendar.plan_step(serves, backend, BackendStep::Boots);
        }
        self.plan(number, calendar);
        removed
    }

    fn recommend(&mut self, now: SimTime, stations: &mut IdVec<BackendId, Station<'_>>) -> u32 {
        let (mut busy, mut counted, mut serving) = (0.0, 0_u32, 0_u32);
        for member in &mut self.members {
            let Some(nanos) = stations[member.backend].busy_nanos(now) else { continue };
            let used = (nanos - std::mem::replace(&mut member.busy_nanos, nanos)) as f64;
            let MemberState::Present(counts_from) = member.state else { continue };
            serving += 1;
            if counts_from <= now {
                let workers = stations[member.backend].workers().map_or(1.0, f64::from);
                busy += used / (workers * self.policy.evaluation_interval.as_nanos() as f64);
                counted += 1;
            }
        }
        // Those that cool down are as busy as the others. The least bit more than a whole number is rounding.
        let mean = busy / f64::from(counted.max(1));
        let target = self.policy.cpu_utilization.utilization_target.value();
        let needed = (mean * f64::from(serving) / target - 1e-9).ceil() as u32;
        let size = if counted == 0 { self.size() } else { needed };
        let recommended = size.clamp(self.policy.min_num_replicas.get(), self.policy.max_num_replicas.get());
        self.recommended.retain(|(time, _)| *time + self.policy.stabilization_period > now);
        self.recommended.push_back((now, recommended));
        recommended
    }

    fn size(&self) -> u32 {
        self.members.iter().filter(|member| member.state != MemberState::Absent).count() as u32
    }

    /// Looks at the members' utilization; gives whom it orders, and whom it removes.
    fn evaluate(
        &mut self,
        now: SimTime,
        stations: &mut IdVec<BackendId, Station<'_>>,
    ) -> (Vec<BackendId>, Vec<BackendId>) {
        let recommended = self.recommend(now, stations);
        let size = self.size();
        let highest = self.recommended.iter().map(|(_, count)| *count).max().unwrap_or(size);
        let (mut ordered, mut removed) = (Vec::new(), Vec::new());
        let absent = self.members.iter_mut().filter(|member| member.state == MemberState::Absent);
        for member in absent.take(recommended.saturating_sub(size) as usize) {
            member.state = MemberState::Booting;
            ordered.push(member.backend);
        }
        let present =
            self.members.iter_mut().rev().filter(|member| matches!(member.state, MemberState::Present(_)));
        for member in present.take(size.saturating_sub(highest) as usize) {
            member.state = MemberState::Absent;
            removed.push(member.backend);
        }
        (ordered, removed)
    }

    pub(super) fn booted(&mut self, now: SimTime, backend: BackendId) {
        let cool_down = self.policy.cool_down_period;
        for member in self.members.iter_mut().filter(|member| member.backend == backend) {
            member.state = MemberState::Present(now + cool_down);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;
    use crate::lb::ratio::Ratio;
    use crate::sim::scenario::{CpuUtilization, Server, Workers};
    use crate::sim::station::Job;
    use crate::time::SimDuration;
    use std::num::NonZeroU32;

    fn secs(secs: u64) -> SimDuration {
        SimDuration::from_secs(secs)
    }

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + secs(seconds)
    }

    /// A group of two of at most six members, of which one is busy throughout.
    fn half_busy() -> (Autoscaler, IdVec<BackendId, Station<'static>>) {
        let server = Server { workers: Workers::Limited(NonZeroU32::MIN), ..Server::default() };
        let server: &Server = Box::leak(Box::new(server));
        let mut stations: IdVec<BackendId, Station<'static>> = (0..6).map(|_| Station::new(server)).collect();
        let first = BackendId::from_index(0);
        let _started = stations[first].admit(SimTime::ZERO, Job::Request(crate::ids::FlowId::from_index(0)));
        let member = |index: usize| Member {
            backend: BackendId::from_index(index),
            state: if index < 2 { MemberState::Present(SimTime::ZERO) } else { MemberState::Absent },
            busy_nanos: 0,
        };
        let policy = AutoscalingPolicy {
            min_num_replicas: NonZeroU32::MIN,
            max_num_replicas: NonZeroU32::new(6).unwrap(),
            cpu_utilization: CpuUtilization { utilization_target: Ratio::new(0.3).unwrap() },
            cool_down_period: secs(60),
            boot_time: secs(30),
            evaluation_interval: secs(10),
            stabilization_period: secs(60),
        };
        let members = (0..6).map(member).collect();
        (Autoscaler { policy, members, recommended: VecDeque::new() }, stations)
    }

    #[test]
    fn it_orders_what_the_target_needs_once_and_removes_only_after_the_stabilization_period() {
        let (mut autoscaler, mut stations) = half_busy();
        // One busy member of two: 1 / 0.3 is more than three, so four are needed.
        let (ordered, removed) = autoscaler.evaluate(at(10), &mut stations);
        assert_eq!((ordered.as_slice(), removed.len()), (&[2, 3].map(BackendId::from_index)[..], 0));
        // Those that boot are not ordered again.
        for time in [20, 30, 40] {
            assert_eq!(autoscaler.evaluate(at(time), &mut stations), (vec![], vec![]), "at {time} s");
        }
        ordered.iter().for_each(|backend| autoscaler.booted(at(40), *backend));
        // The first member is idle from 45 s on, but at 40 s four were needed.
        let _none = stations[BackendId::from_index(0)].take_next(at(45), |_| true);
        for time in [50, 60, 70, 80, 90] {
            assert_eq!(autoscaler.evaluate(at(time), &mut stations), (vec![], vec![]), "at {time} s");
        }
        // At 50 s half of an interval was busy, on one of two members that count of four that serve: four were needed still.
        assert_eq!(autoscaler.evaluate(at(100), &mut stations), (vec![], vec![]));
        // In the minute that ends now none was busy.
        let (ordered, removed) = autoscaler.evaluate(at(110), &mut stations);
        assert_eq!((ordered.len(), removed.as_slice()), (0, &[3, 2, 1].map(BackendId::from_index)[..]));
    }
}
