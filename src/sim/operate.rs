//! What an operator, or an autoscaler, does to the load balancer while it runs.

use super::calendar::Calendar;
use super::front::FrontSide;
use super::machines::Machines;
use crate::lb::change::Change;

/// Makes `changes`. The load balancer takes them as one; then their probes and records follow.
pub(super) fn change(
    changes: &[Change],
    front: &mut FrontSide,
    machines: &mut Machines<'_>,
    calendar: &mut Calendar,
) {
    let now = calendar.now();
    let FrontSide { balancer, recorder, .. } = front;
    for change in changes {
        if let Change::SetChecked(backend, checked) = *change {
            machines.checked[backend] = checked;
        }
    }
    balancer.change_together(now, |balancer| {
        for change in changes {
            match *change {
                Change::Configure(ref settings) => balancer.configure(now, settings.clone()),
                Change::Add(backend) => balancer.add(now, backend, machines.is_initially_healthy(backend)),
                Change::Remove(backend) => balancer.remove(now, backend),
                Change::SetRole(backend, role) => balancer.set_role(now, backend, role),
                // Without a check it counted as healthy, and does now (TPA-4): probes find out anew.
                Change::SetChecked(backend, _) if balancer.roster().member(backend).configured => {
                    balancer.set_health(now, backend, true);
                }
                Change::SetChecked(..) => {}
            }
        }
    });
    for change in changes {
        match *change {
            Change::Add(backend) => {
                machines.hold(backend, machines.is_initially_healthy(backend), calendar, recorder);
            }
            Change::Remove(backend) => {
                machines.probers[backend].checking = false;
                recorder.held(now, backend, None);
            }
            Change::SetChecked(backend, checked) => {
                if !checked {
                    machines.probers[backend].checking = false;
                }
                if balancer.roster().member(backend).configured {
                    machines.hold(backend, true, calendar, recorder);
                }
            }
            Change::Configure(_) | Change::SetRole(..) => {}
        }
    }
}
