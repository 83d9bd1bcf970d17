//! The table of metrics. A row: name, unit, which values are good, how they are written; meaning; formula; properties; words.
//!
//! Counts of work done are neither good nor bad: arms meet the same arrivals, and what differs comes of failures and
//! retries. The price of processing falls when traffic is lost, so that less is not better.

use super::Good::{Low, Neither};
use super::MetricWhole::{Connections, RoundTrips, ZonalBytes, ZonalConnections};
use super::formula::{
    broken_per_connection_hour, bytes, cross_zone, cross_zone_usd, cross_zone_usd_per_completed_gib, millis,
    open_connections, peak_utilization, split_connections, usd_per_month,
};
use super::happenings::{
    idle_backends, longest_detection, longest_outage, mean_detection, needlessly_remapped, outage, remapped,
    serving, spread,
};
use super::load::{busiest_backend, busiest_zone, highest_offered_load, mean_backends, utilization};
use super::unit::Unit::{Number, Percent, Usd};
use super::{Formula, Metric, Properties, Words};
use crate::lb::backend::Role;
use crate::lb::policy::PlacementOutcome;
use crate::sim::outcome::FailureCause;

macro_rules! metrics {
    ($(
        $name:ident [$unit:literal] $good:ident $format:ident
            $definition:literal
            = $formula:expr
            $(, is [$($property:ident)+])?
            $(, shown { $($word:ident: $text:literal),+ $(,)? })?;
    )+) => {
        /// Every metric, in the order of the columns of `runs.csv`.
        #[allow(clippy::needless_update, reason = "one metric may have all words, or properties")]
        pub const METRICS: &[Metric] = &[$(Metric {
            name: stringify!($name), unit: $unit, definition: $definition, good: $good, format: $format,
            formula: $formula, properties: Properties { $($($property: true,)+)? ..Properties::NONE },
            words: Words { $($($word: $text,)+)? ..Words::NONE },
        }),+];
    };
}

/// A metric that counts.
macro_rules! count {
    ($run:ident => $value:expr) => {
        Formula::Count(|$run| $value as f64)
    };
}

/// A metric that is the part of a whole.
macro_rules! part {
    ($whole:ident, $run:ident => $value:expr) => {
        Formula::Part($whole, |$run| $value as f64)
    };
}

metrics! {
    connections ["connections"] Neither Number
        "connections whose first packet was sent in the measured window"
        = count!(run => run.outcome.total().connections);
    failed_connections ["connections"] Low Number
        "connections that never completed all their requests"
        = count!(run => run.outcome.total().failed_connections);
    failure_ratio ["1"] Low Percent
        "failed connections over connections"
        = part!(Connections, run => run.outcome.total().failed_connections),
        shown {
            heading: "failures", noun: "failures", topic: "failed connections",
            title: "Failed connections", quantity: "Connections (%)", label: "Failed connections (%)",
        };
    failed_no_backend ["connections"] Low Number
        "failed: the load balancer forwarded no packet of it to any backend"
        = count!(run => run.outcome.failed(FailureCause::NoBackend)), is [decided],
        shown { title: "No backend", quantity: "Connections per run" };
    failed_connect_timeout ["connections"] Low Number
        "failed: no handshake within the connect timeout"
        = count!(run => run.outcome.failed(FailureCause::ConnectTimeout)),
        shown { title: "Connect timeout", quantity: "Connections per run" };
    failed_refused ["connections"] Low Number
        "failed: a backend answered the SYN with RST"
        = count!(run => run.outcome.failed(FailureCause::Refused)),
        shown { title: "Refused", quantity: "Connections per run" };
    failed_reset ["connections"] Low Number
        "failed: a backend answered a later packet with RST, or reset the connection when it failed"
        = count!(run => run.outcome.failed(FailureCause::Reset)),
        shown { title: "Reset", quantity: "Connections per run" };
    failed_request_timeout ["connections"] Low Number
        "failed: no response within the request timeout"
        = count!(run => run.outcome.failed(FailureCause::RequestTimeout)),
        shown { title: "Request timeout", quantity: "Connections per run" };
    failed_queue_full ["connections"] Low Number
        "failed: the backend's queue was full"
        = count!(run => run.outcome.failed(FailureCause::QueueFull)),
        shown { title: "Queue full", quantity: "Connections per run" };
    failed_no_port ["connections"] Low Number
        "failed: the client's address had a connection open on each of its ports, so that no packet was sent"
        = count!(run => run.outcome.failed(FailureCause::NoPort)),
        shown { title: "No port", quantity: "Connections per run" };
    open_connections ["connections"] Neither Number
        "connections that were open, on average over the window's time"
        = Formula::Value(open_connections);
    ended_connections ["connections"] Neither Number
        "connections that ended in the measured window, completed or failed, whenever they began"
        = count!(run => run.outcome.ended);
    broken_connections ["connections"] Low Number
        "connections that failed in the measured window, whenever they began: the sum of the timeline's failures"
        = count!(run => run.outcome.broken_connections()),
        shown { title: "Failed in the window", quantity: "Connections per run", label: "Connections that failed in the window" };
    broken_no_backend ["connections"] Low Number
        "failed in the window, whenever they began: the load balancer forwarded no packet of it to any backend"
        = count!(run => run.outcome.broken(FailureCause::NoBackend)), is [decided];
    broken_connect_timeout ["connections"] Low Number
        "failed in the window, whenever they began: no handshake within the connect timeout"
        = count!(run => run.outcome.broken(FailureCause::ConnectTimeout));
    broken_refused ["connections"] Low Number
        "failed in the window, whenever they began: a backend answered the SYN with RST"
        = count!(run => run.outcome.broken(FailureCause::Refused));
    broken_reset ["connections"] Low Number
        "failed in the window, whenever they began: a backend answered a later packet with RST, or reset the connection when it failed"
        = count!(run => run.outcome.broken(FailureCause::Reset));
    broken_request_timeout ["connections"] Low Number
        "failed in the window, whenever they began: no response within the request timeout"
        = count!(run => run.outcome.broken(FailureCause::RequestTimeout));
    broken_queue_full ["connections"] Low Number
        "failed in the window, whenever they began: the backend's queue was full"
        = count!(run => run.outcome.broken(FailureCause::QueueFull));
    broken_no_port ["connections"] Low Number
        "failed in the window, whenever they began: the client's address had a connection open on each of its ports"
        = count!(run => run.outcome.broken(FailureCause::NoPort));
    broken_per_connection_hour ["1/h"] Low Number
        "open connections that failed in the window, over the hours that connections were open in it; absent where none was open"
        = Formula::Value(broken_per_connection_hour);
    requests ["requests"] Neither Number
        "requests that got their response in the window, of whatever connection"
        = count!(run => run.outcome.total().requests);
    cross_zone_connection_ratio ["1"] Low Percent
        "share of the connections of clients in the region's zones that reached a backend of another zone"
        = part!(ZonalConnections, run => cross_zone(run).connections), is [decided],
        shown {
            heading: "cross-zone", noun: "cross-zone share",
            title: "Connections to another zone", quantity: "Connections (%)",
            label: "Cross-zone connections (%)",
        };
    cross_zone_byte_ratio ["1"] Low Percent
        "share of the bytes, both ways, of clients in the region's zones that crossed zones"
        = part!(ZonalBytes, run => bytes(&cross_zone(run))), is [decided];
    cross_zone_bytes ["bytes"] Low Number
        "bytes of the window, both ways, that crossed zones"
        = count!(run => bytes(&cross_zone(run))), is [decided];
    cross_zone_usd_per_month ["USD/month"] Low Usd
        "price of the bytes that crossed zones in the window, for a month of 730 h at that rate; empty where no client has a zone in the region"
        = Formula::Value(cross_zone_usd), is [decided],
        shown {
            heading: "USD a month", noun: "cross-zone cost", topic: "cross-zone cost a month",
            label: "Cross-zone traffic (USD/month)",
        };
    processing_usd_per_month ["USD/month"] Neither Usd
        "price of the bytes from clients to backends in the window, for a month of 730 h at that rate"
        = Formula::Value(|run| {
            let sent = run.outcome.total().request_bytes as f64;
            Some(usd_per_month(run, sent, run.scenario.prices.processing_per_gib))
        });
    cross_zone_usd_per_completed_gib ["USD/GiB"] Low Usd
        "price of the bytes that crossed zones, over the GiB of responses that clients in the region's zones got; absent where they got none"
        = Formula::Value(cross_zone_usd_per_completed_gib), is [decided];
    connect_p50_ms ["ms"] Low Number
        "median time from the first SYN to the handshake's end"
        = Formula::Value(|run| run.latency.connect.quantile(500).map(millis)),
        shown { title: "Connect, median", quantity: "Latency (ms)" };
    connect_p99_ms ["ms"] Low Number
        "99th percentile of the time from the first SYN to the handshake's end"
        = Formula::Value(|run| run.latency.connect.quantile(990).map(millis)),
        shown { title: "Connect, 99 % quantile", quantity: "Latency (ms)", label: "Connect, 99 % (ms)" };
    request_p50_ms ["ms"] Low Number
        "median time from a request to its whole response"
        = Formula::Value(|run| run.latency.request.quantile(500).map(millis)),
        shown { title: "Request, median", quantity: "Latency (ms)" };
    request_p99_ms ["ms"] Low Number
        "99th percentile of the time from a request to its whole response"
        = Formula::Value(|run| run.latency.request.quantile(990).map(millis)),
        shown {
            heading: "request p99 ms", noun: "tail latency", topic: "request p99 (ms)",
            title: "Request, 99 % quantile", quantity: "Latency (ms)",
            label: "Request latency, 99 % quantile (ms)", short: "Request, 99 % (ms)",
        };
    network_rtt_mean_ms ["ms"] Low Number
        "mean round trip of handshakes and requests"
        = part!(RoundTrips, run => run.latency.network_rtt.sum() / 1e6);
    backend_load_max_over_mean ["1"] Low Number
        "connections of the busiest backend over its fair share: all connections shared out over the primaries by their workers (equally where unlimited), as if all were well"
        = Formula::Value(busiest_backend),
        shown {
            title: "Most loaded backend", quantity: "Multiple of its fair share",
            label: "Backend load, multiple of its fair share",
        };
    zone_load_max_over_mean ["1"] Low Number
        "the same of the busiest zone: connections of its primaries, or of its failover backends, over their fair share"
        = Formula::Value(busiest_zone),
        shown {
            heading: "hottest zone",
            title: "Most loaded zone", quantity: "Multiple of its fair share",
            label: "Zone load, multiple of its fair share",
        };
    zone_offered_load_max ["1"] Low Percent
        "work that arrives in a zone (requests times mean service time) over the worker time of its backends that serve, where it is highest; above 100 % queues grow"
        = Formula::Value(highest_offered_load);
    utilization ["1"] Neither Percent
        "busy over available worker time of all backends; a dead backend's time is not available"
        = Formula::Value(utilization), is [share];
    peak_utilization ["1"] Low Percent
        "highest utilization of any backend over one sample interval"
        = Formula::Value(peak_utilization), is [share];
    spilled_connection_ratio ["1"] Neither Percent
        "share of connections that left the choice of their zone because too few of its backends were eligible"
        = part!(Connections, run => run.outcome.decided(PlacementOutcome::Spilled)), is [decided];
    unhealthy_connection_ratio ["1"] Low Percent
        "share of connections placed on a backend that the load balancer held unhealthy"
        = part!(Connections, run => run.outcome.unhealthy_connections), is [decided];
    conntrack_peak_entries ["entries"] Neither Number
        "most entries of the connection tracking table at one time; entries that die idle are counted up to 1/128 of the timeout longer"
        = count!(run => run.outcome.conntrack_peak_entries);
    conntrack_lookups ["packets"] Neither Number
        "packets looked up in the connection tracking table"
        = count!(run => run.outcome.conntrack_lookups);
    conntrack_hits ["packets"] Neither Number
        "lookups that found a live entry"
        = count!(run => run.outcome.conntrack_hits);
    diverted_connections ["connections"] Low Number
        "how often in the window a later packet of a connection was sent to another backend than those before"
        = count!(run => run.outcome.diverted_connections), is [decided];
    health_transitions ["transitions"] Neither Number
        "changes of a backend's state of health as the load balancer sees it"
        = count!(run => run.outcome.health_transitions), is [decided];
    failover_switches ["switches"] Neither Number
        "changes of the role that serves"
        = count!(run => run.outcome.failover_switches), is [decided];
    mean_backends ["backends"] Neither Number
        "configured backends, on average over time"
        = Formula::Value(mean_backends), is [decided];
    detection_mean_seconds ["s"] Low Number
        "mean time from a backend's failure to the load balancer's holding it unhealthy, of those noticed in the window"
        = Formula::Value(mean_detection), is [decided];
    detection_max_seconds ["s"] Low Number
        "longest time from a backend's failure to the load balancer's holding it unhealthy, of those noticed in the window"
        = Formula::Value(longest_detection), is [decided];
    outages ["outages"] Low Number
        "how often in the window a client group's new connections could get no backend that works, added up over client groups"
        = count!(run => run.outcome.history.outages.iter().map(|spans| spans.count).sum::<u64>()), is [decided];
    outage_seconds ["s"] Low Number
        "time in which a client group's new connections could get no backend that works, added up over client groups"
        = Formula::Value(outage), is [decided];
    longest_outage_seconds ["s"] Low Number
        "longest part of the window without a break in which a client group's new connections could get no backend that works"
        = Formula::Value(longest_outage), is [decided];
    primary_seconds ["s"] Neither Number
        "time in which healthy primaries, or the target pool, served"
        = Formula::Value(|run| serving(run, Role::Primary)), is [decided];
    failover_seconds ["s"] Low Number
        "time in which healthy failover backends, or the backup pool, served"
        = Formula::Value(|run| serving(run, Role::Failover)), is [decided];
    decision_changes ["changes"] Neither Number
        "changes of outcome or of the sets chosen, over all places that clients send from"
        = count!(run => run.outcome.history.decision_changes), is [decided];
    remapped_client_ratio ["1"] Low Percent
        "when the backends that a client group may get change: share of its connections that hash to another one, over 256 of each group"
        = Formula::Value(remapped), is [decided share];
    needless_remap_ratio ["1"] Low Percent
        "of those whose backend may still be got then: share that hash to another one that could be got before too"
        = Formula::Value(needlessly_remapped), is [decided share];
    idle_backends ["backends"] Neither Number
        "configured backends that got no connection"
        = Formula::Value(idle_backends);
    backend_connections_cv ["1"] Low Percent
        "standard deviation over mean of the connections of the backends in the role that got most"
        = Formula::Value(spread);
    split_connection_ratio ["1"] Low Percent
        "of connections whose answers have a next hop of their own: share whose first answer met another machine than they did"
        = Formula::Value(split_connections), is [share],
        shown {
            title: "Connections in two machines", quantity: "Connections (%)",
            label: "Connections whose directions meet different machines (%)",
        };
}
