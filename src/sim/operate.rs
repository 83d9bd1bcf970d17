//! What an operator, or an autoscaler, does to the load balancers while they run.

use super::balancers::Balancers;
use super::calendar::Calendar;
use super::front::FrontSide;
use super::machines::Machines;
use super::recorder::Recorder;
use crate::ids::BalancerId;
use crate::lb::change::{Change, RegionChange};

/// Makes `changes`. Each load balancer takes its own as one; then their probes and records follow.
pub(super) fn change(
    changes: &[RegionChange],
    front: &mut FrontSide,
    machines: &mut Machines<'_>,
    calendar: &mut Calendar,
) {
    let FrontSide { balancers, recorder, .. } = front;
    for id in balancers.ids() {
        let own: Vec<&Change> = changes.iter().filter_map(|change| change.of(id)).collect();
        if !own.is_empty() {
            reconfigure(id, &own, balancers, machines, calendar);
            follow(id, &own, balancers, recorder, (machines, calendar));
        }
    }
    for change in changes {
        match *change {
            RegionChange::Balancer(..) => {}
            RegionChange::Retarget(rule, balancer) => balancers.retarget(rule, balancer),
            RegionChange::Reach(rule, so) => balancers.set_reach(rule, so),
        }
    }
}

fn reconfigure(
    id: BalancerId,
    changes: &[&Change],
    balancers: &mut Balancers,
    machines: &Machines<'_>,
    calendar: &Calendar,
) {
    let now = calendar.now();
    for change in changes {
        if let Change::SetJudge(backend, judge) = **change {
            balancers.set_judge(id, backend, judge);
        }
    }
    let begins = |backend| machines.begins_new(balancers, (id, backend));
    let begin_healthy: Vec<bool> = changes.iter().map(|change| change.member().is_none_or(begins)).collect();
    balancers.get_mut(id).change_together(now, |balancer| {
        for (change, healthy) in changes.iter().zip(begin_healthy) {
            match **change {
                Change::Configure(ref settings) => balancer.configure(now, settings.clone()),
                Change::Add(backend) => balancer.add(now, backend, healthy),
                Change::Remove(backend) => balancer.remove(now, backend),
                Change::SetRole(backend, role) => balancer.set_role(now, backend, role),
                // Without a check it counted as healthy, and does now (TPA-4): probes find out anew.
                Change::SetJudge(backend, _) if balancer.roster().member(backend).configured => {
                    balancer.set_health(now, backend, true);
                }
                Change::SetJudge(..) => {}
            }
        }
    });
}

fn follow(
    id: BalancerId,
    changes: &[&Change],
    balancers: &Balancers,
    recorder: &mut Recorder,
    (machines, calendar): (&mut Machines<'_>, &mut Calendar),
) {
    let now = calendar.now();
    for change in changes {
        match **change {
            Change::Add(backend) => {
                let healthy = balancers.get(id).roster().is_healthy(backend);
                machines.hold((id, backend, healthy), balancers, calendar, recorder);
            }
            Change::Remove(backend) => {
                machines.let_go(now, backend, balancers, recorder);
                recorder.held(now, id, backend, None);
            }
            Change::SetJudge(backend, _) => {
                machines.let_go(now, backend, balancers, recorder);
                if balancers.is_member(id, backend) {
                    machines.hold((id, backend, true), balancers, calendar, recorder);
                }
            }
            Change::Configure(_) | Change::SetRole(..) => {}
        }
    }
}
