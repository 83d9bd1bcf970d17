//! The rows of each CSV file but `runs.csv`, whose columns the experiment decides.
//!
//! A row type and its reading come from one list, so that a column can't be declared and left unread. Axis
//! columns are not repeated here: `cell` leads to them.

use std::path::Path;

use super::error::ResultsError;
use super::table::{Row, Table};

/// A row of a results file.
pub trait FileRow: Sized {
    /// The file.
    const FILE: &str;
    /// Reads the row.
    fn from_row(row: &Row<'_>) -> Result<Self, ResultsError>;
}

/// Reads every row of the file of `R` in the folder `dir`.
pub fn read<R: FileRow>(dir: &Path) -> Result<Vec<R>, ResultsError> {
    Table::open(&dir.join(R::FILE))?.read(R::from_row)
}

/// The same, of a file that may be left out of a folder to save space: then it has no rows, and its charts are not drawn.
pub fn read_if_there<R: FileRow>(dir: &Path) -> Result<Vec<R>, ResultsError> {
    if dir.join(R::FILE).exists() { read(dir) } else { Ok(Vec::new()) }
}

macro_rules! file_rows {
    ($(
        $(#[$doc:meta])*
        $name:ident in $file:literal {
            text { $($(#[$text_doc:meta])* $text:ident),* $(,)? }
            number { $($(#[$number_doc:meta])* $number:ident),* $(,)? }
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            /// The number of the cell.
            pub cell: usize,
            $($(#[$text_doc])* pub $text: String,)*
            $($(#[$number_doc])* pub $number: Option<f64>,)*
        }

        impl FileRow for $name {
            const FILE: &str = $file;
            fn from_row(row: &Row<'_>) -> Result<Self, ResultsError> {
                Ok(Self {
                    cell: row.index("cell")?,
                    $($text: row.text(stringify!($text))?.to_owned(),)*
                    $($number: row.number(stringify!($number))?,)*
                })
            }
        }
    )*};
}

file_rows! {
    /// A metric of a cell over its replications.
    Summary in "summary.csv" {
        text {
            /// The metric's name.
            metric,
            /// Its unit.
            unit,
        }
        number {
            /// How many replications have a value.
            n,
            /// Their mean.
            mean,
            /// Their standard deviation.
            std_dev,
            /// The lower end of the mean's confidence interval.
            ci_low,
            /// Its upper end.
            ci_high,
            /// Its confidence, 0 to 1.
            confidence,
        }
    }

    /// What one client group sent to one zone in one run.
    Traffic in "traffic.csv" {
        text {
            /// The client group.
            client,
            /// Where it is: a zone, a kind or another region.
            client_zone,
            /// The zone of the backends; empty where no backend was reached.
            backend_zone,
        }
        number {
            /// Which replication it is.
            replication,
            /// Connections.
            connections,
            /// Connections that failed.
            failed_connections,
            /// Requests.
            requests,
            /// Bytes from the clients.
            request_bytes,
            /// Bytes to the clients.
            response_bytes,
        }
    }

    /// Latencies between two zones in one run.
    Latency in "latency.csv" {
        text {
            /// The zone of the clients, or `all`.
            client_zone,
            /// The zone of the backends, or `all`.
            backend_zone,
            /// `network_rtt`, `connect` or `request`.
            kind,
        }
        number {
            /// Which replication it is.
            replication,
            /// Observations.
            count,
            /// Their mean.
            mean_ms,
            /// The median.
            p50_ms,
            /// The 90 % quantile.
            p90_ms,
            /// The 99 % quantile.
            p99_ms,
            /// The 99.9 % quantile.
            p999_ms,
            /// The largest.
            max_ms,
        }
    }

    /// What one backend did in one run.
    Backend in "backends.csv" {
        text {
            /// The backend.
            backend,
            /// Its group.
            group,
            /// Its zone.
            zone,
        }
        number {
            /// Which replication it is.
            replication,
            /// Connections.
            connections,
            /// Requests.
            requests,
            /// Requests over the mean of all backends that serve.
            load_multiple,
            /// The share of worker time in use.
            utilization,
            /// The most connections at once.
            peak_active,
            /// Seconds that the load balancer held it unhealthy.
            unhealthy_s,
            /// Connections that failed.
            failed_connections,
            /// The mean number of requests that waited.
            mean_queue_length,
            /// The mean time that requests waited.
            mean_wait_ms,
        }
    }

    /// How the connections of one client group were placed in one run.
    Decision in "decisions.csv" {
        text {
            /// The client group.
            client,
            /// The outcome.
            outcome,
        }
        number {
            /// Which replication it is.
            replication,
            /// Connections.
            connections,
        }
    }

    /// One sample of a cell between two zones, the mean over its replications.
    Timeline in "timeline.csv" {
        text {
            /// The zone of the clients.
            client_zone,
            /// The zone of the backends.
            backend_zone,
        }
        number {
            /// Simulated time.
            time_s,
            /// Connections begun per second.
            connections_per_s,
            /// Connections failed per second.
            failed_per_s,
            /// The 99 % quantile of the time to connect.
            connect_p99_ms,
            /// Backends of the zone that the load balancer holds healthy.
            healthy_backends,
            /// Connections under way.
            active_connections,
            /// The mean share of busy workers of the zone's backends.
            utilization,
            /// Changes of the role that serves, in all zones.
            failover_switches,
        }
    }
}
