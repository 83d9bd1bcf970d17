//! `autoscaling_policy` of a group: a managed instance group that follows its utilization.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;

use super::groups::MemberCount;
use super::not_forever;
use crate::experiment::bounded::{Span, Whole};
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, refuse};
use crate::sim::scenario::{AutoscalingPolicy, CpuUtilization, Workers};
use crate::time::SimDuration;

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AutoscalingKeys {
    /// The least members. Default: the group's size.
    min_num_replicas: Option<MemberCount>,
    /// The most members.
    #[schemars(extend("examples" = [10]))]
    max_num_replicas: MemberCount,
    /// What it aims at.
    #[serde(default)]
    cpu_utilization: CpuUtilization,
    /// How long a new member's utilization does not count.
    #[serde(default = "secs::<60>")]
    cool_down_period: SimDuration,
    /// From the order of a member to its serving.
    #[serde(default = "secs::<60>")]
    boot_time: SimDuration,
    /// From one look at the members to the next.
    #[serde(default = "Span::secs::<10>")]
    evaluation_interval: Span,
    /// How long a group must have been too large before members are removed.
    #[serde(default = "secs::<600>")]
    stabilization_period: SimDuration,
}

fn secs<const SECS: u64>() -> SimDuration {
    SimDuration::from_secs(SECS)
}

impl AutoscalingKeys {
    pub(super) fn policy(
        &self,
        size: u32,
        workers: Workers,
        group: &KeyPath,
    ) -> Result<AutoscalingPolicy, Problem> {
        let interval = self.evaluation_interval.get();
        let place = group.key("autoscaling_policy");
        let (least, most) = (self.min_num_replicas.map_or(size, Whole::get), self.max_num_replicas.get());
        if size < least || size > most {
            let what = format!("is {size}, but the group is to have {least} to {most} members");
            let help = "write a size within min_num_replicas and max_num_replicas";
            return refuse(group.key("size"), what, help);
        }
        if workers == Workers::Unlimited {
            let what = "follows a utilization, which unlimited workers do not have";
            return refuse(place, what, "write a number of workers in [server]");
        }
        if self.cpu_utilization.utilization_target.value() <= 0.0 {
            let path = place.key("cpu_utilization").key("utilization_target");
            return refuse(path, "can't be 0", "write a share above 0.0, such as 0.6");
        }
        for (key, length) in [
            ("cool_down_period", self.cool_down_period),
            ("boot_time", self.boot_time),
            ("stabilization_period", self.stabilization_period),
        ] {
            not_forever(length, place.key(key))?;
        }
        if interval < SimDuration::from_secs(1) {
            let what = format!("is {interval}, which looks more often than any autoscaler");
            return refuse(place.key("evaluation_interval"), what, "write 1s or more");
        }
        let number = |count| NonZeroU32::new(count).expect("at least one member");
        Ok(AutoscalingPolicy {
            min_num_replicas: number(least),
            max_num_replicas: number(most),
            cpu_utilization: self.cpu_utilization,
            cool_down_period: self.cool_down_period,
            boot_time: self.boot_time,
            evaluation_interval: interval,
            stabilization_period: self.stabilization_period,
        })
    }
}
