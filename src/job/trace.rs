//! Connections packet by packet, beside the other files of a results folder.

use std::num::NonZeroU32;
use std::path::Path;

use super::error::JobError;
use super::manifest::Manifest;
use super::runner::{RunId, failure};
use crate::experiment::Experiment;
use crate::metrics::tables::{FileRow, PacketRow};
use crate::random::RunSeed;
use crate::results::tables::PacketTable;
use crate::sim::Simulation;

/// Writes the first `connections` of the measured window of each cell's first replication into `trace.csv` in `folder`, packet
/// by packet; gives how many packets that are.
///
/// Those runs are simulated again, to the end of these connections, so that a run without a trace costs nothing for it.
///
/// # Errors
/// If the file can't be written, or a run fails.
pub fn trace(experiment: &Experiment, folder: &Path, connections: NonZeroU32) -> Result<usize, JobError> {
    let mut table = PacketTable::create(folder, experiment)?;
    let mut count = 0;
    for cell in experiment.cells() {
        let run = RunId { cell: cell.index, replication: 0 };
        let scenario = experiment.scenario(cell);
        let simulation = Simulation::new(&scenario, RunSeed::new(experiment.seed(), run.replication));
        let traced = simulation.run_traced(connections.get() as usize);
        let packets = traced.map_err(|error| failure(experiment, run, error.to_string()))?;
        table.add(cell, run.replication, &scenario, &packets)?;
        count += packets.len();
    }
    table.finish()?;
    Manifest::enlist(folder, &[folder.join(PacketRow::FILE.name)])?;
    Ok(count)
}
