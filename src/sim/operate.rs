//! What an operator, or an autoscaler, does to the load balancer while it runs.

use super::calendar::Calendar;
use super::probing::Probing;
use super::recorder::Recorder;
use crate::lb::LoadBalancer;
use crate::lb::change::Change;

/// Makes `changes`. The load balancer takes them as one; then their probes and records follow.
pub(super) fn change(
    changes: &[Change],
    balancer: &mut LoadBalancer,
    probing: &mut Probing<'_>,
    calendar: &mut Calendar,
    recorder: &mut Recorder,
) {
    let now = calendar.now();
    for change in changes {
        if let Change::SetChecked(backend, checked) = *change {
            probing.set_checked(backend, checked);
        }
    }
    balancer.change_together(now, |balancer| {
        for change in changes {
            match *change {
                Change::Configure(ref settings) => balancer.configure(now, settings.clone()),
                Change::Add(backend) => balancer.add(now, backend, probing.is_initially_healthy(backend)),
                Change::Remove(backend) => balancer.remove(now, backend),
                Change::SetRole(backend, role) => balancer.set_role(now, backend, role),
                Change::SetChecked(backend, _) if balancer.roster().member(backend).configured => {
                    balancer.set_health(now, backend, probing.is_initially_healthy(backend));
                }
                Change::SetChecked(..) => {}
            }
        }
    });
    for change in changes {
        match *change {
            Change::Add(backend) => probing.hold(backend, calendar, recorder),
            Change::Remove(backend) => {
                probing.stop_checking(backend);
                recorder.held(now, backend, None);
            }
            Change::SetChecked(backend, checked) => {
                if !checked {
                    probing.stop_checking(backend);
                }
                if balancer.roster().member(backend).configured {
                    probing.hold(backend, calendar, recorder);
                }
            }
            Change::Configure(_) | Change::SetRole(..) => {}
        }
    }
}
