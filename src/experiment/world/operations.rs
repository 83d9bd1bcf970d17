//! `[[operations]]`: what an operator does, when.

use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use super::before_the_end;
use super::groups::GroupPlan;
use super::operator::{Operator, Verb};
use crate::compute::{ApiError, ControlPlane, Instance, Method, Resources, Target};
use crate::experiment::node::Node;
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, refuse};
use crate::experiment::reader::{read, read_tagged};
use crate::ids::BackendId;
use crate::lb::change::RegionChange;
use crate::sim::builder::ScenarioBuilder;
use crate::sim::scenario::Operation;
use crate::time::{SimDuration, SimTime};

/// A member of `[[operations]]`, where the other keys depend on `do`.
pub(super) struct WrittenOperation<'a> {
    /// When it takes effect, on the clock that starts with the warm-up.
    at: SimDuration,
    pub(super) call: Call,
    node: Node<'a>,
    path: KeyPath,
}

const COMMON: &[&str] = &["at", "do"];

/// What an operator calls: a method of the API by its own name, or a short form.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Call {
    Short(Verb),
    Method(Method),
}

impl JsonSchema for Call {
    fn schema_name() -> Cow<'static, str> {
        "operation".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Verb::json_schema(generator);
        let methods = Method::json_schema(generator);
        let methods = methods.get("oneOf").and_then(|it| it.as_array()).cloned().unwrap_or_default();
        if let Some(all) = schema.get_mut("oneOf").and_then(|it| it.as_array_mut()) {
            all.extend(methods);
        }
        schema
    }
}

impl Call {
    fn by(&self, operator: &mut Operator) -> Result<Vec<RegionChange>, ApiError> {
        match self {
            Self::Short(verb) => operator.apply(verb),
            Self::Method(method) => operator.call(method),
        }
    }

    /// Reads what the table `node` at `path` calls.
    fn read(node: Node<'_>, path: &KeyPath) -> Result<Self, Problem> {
        let name = node.get("do").map(Node::to_value);
        let is_method = name.as_ref().and_then(|name| name.as_str()).is_some_and(|name| name.contains('.'));
        if is_method {
            return read_tagged(node, "do", COMMON, path).map(Self::Method);
        }
        read_tagged(node, "do", COMMON, path).map(Self::Short)
    }
}

#[derive(JsonSchema)]
pub(super) struct OperationKeys {
    #[schemars(flatten)]
    _head: Head,
    #[schemars(flatten)]
    _call: Call,
}

#[derive(Deserialize, JsonSchema)]
struct Head {
    /// When it takes effect, on the clock that starts with the warm-up.
    #[schemars(example = &"10m")]
    at: SimDuration,
}

pub(super) fn operations(root: Node<'_>) -> Result<Vec<WrittenOperation<'_>>, Problem> {
    let list = KeyPath::to("operations");
    let Some(written) = root.get("operations") else {
        return Ok(Vec::new());
    };
    let heads: Vec<Head> = read(written, &list)?;
    let members = written.members().unwrap_or_default().into_iter().zip(heads).enumerate();
    let operations = members.map(|(index, (node, Head { at }))| {
        let path = list.member(index);
        let call = Call::read(node, &path).map_err(Problem::with_reason)?;
        Ok(WrittenOperation { at, call, node, path })
    });
    operations.collect()
}

/// What `operations` do, in the order of time; at equal times in the order of the file.
pub(super) fn words(operations: &[WrittenOperation<'_>]) -> Vec<String> {
    in_time(operations).into_iter().map(WrittenOperation::words).collect()
}

fn in_time<'a, 'b>(operations: &'b [WrittenOperation<'a>]) -> Vec<&'b WrittenOperation<'a>> {
    let mut in_time: Vec<&WrittenOperation<'_>> = operations.iter().collect();
    in_time.sort_by_key(|operation| operation.at);
    in_time
}

impl WrittenOperation<'_> {
    /// The rules that it creates.
    pub(super) fn rules(&self) -> Option<&str> {
        match &self.call {
            Call::Method(Method::InsertForwardingRule(_)) => self.text("name"),
            _ => None,
        }
    }

    /// What it leads a rule to.
    pub(super) fn targets(&self) -> impl Iterator<Item = &str> {
        let leads =
            matches!(self.call, Call::Method(Method::InsertForwardingRule(_) | Method::SetTarget { .. }));
        let keys = ["target", "backend_service"].into_iter().filter(move |_| leads);
        keys.filter_map(|key| self.text(key)?.rsplit('/').next())
    }

    /// What it creates that a rule can lead to.
    pub(super) fn inserts(&self) -> Option<Target> {
        let name = || self.text("name").map(str::to_owned);
        match &self.call {
            Call::Method(Method::InsertBackendService(_)) => name().map(Target::Service),
            Call::Method(Method::InsertTargetPool(_)) => name().map(Target::Pool),
            _ => None,
        }
    }

    /// The machine that it creates, and where the operation stands.
    pub(super) fn new_instance(&self) -> Option<(Instance, &KeyPath)> {
        match &self.call {
            Call::Method(Method::InsertInstance(keys)) => Some((keys.resource(), &self.path)),
            _ => None,
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.node.get(key)? {
            Node::Scalar(value) => value.as_str(),
            _ => None,
        }
    }

    /// What it does, with its keys: `drain zone = "us-central1-a"`.
    fn words(&self) -> String {
        let verb = self.node.get("do").map(Node::to_value);
        let verb = verb.as_ref().and_then(|verb| verb.as_str()).unwrap_or_default().to_owned();
        let keys = self.node.entries().filter(|(key, _)| !COMMON.contains(key));
        let keys: Vec<String> = keys.map(|(key, value)| format!("{key} = {}", value.to_value())).collect();
        if keys.is_empty() { verb } else { format!("{verb} {}", keys.join(", ")) }
    }
}

pub(super) fn count_added(operations: &[WrittenOperation<'_>], plans: &mut [GroupPlan]) {
    for operation in operations {
        if let Call::Short(Verb::AddInstances { group, count }) = &operation.call {
            let plan = plans.iter_mut().find(|plan| plan.group.name == *group);
            plan.into_iter().for_each(|plan| plan.added = plan.added.saturating_add(count.get()));
        }
    }
}

/// What operations do.
pub(super) struct History<'a> {
    pub(super) world: &'a ScenarioBuilder,
    /// To the load balancer, in the order of time; at equal times in the order of the file.
    pub(super) operations: Vec<Operation>,
    /// The backends that exist from the beginning, and from each operation on.
    existing: Vec<(SimTime, BTreeSet<BackendId>)>,
    /// The resources as the last of them leaves them.
    pub(super) last: ControlPlane,
    /// The resources at the moment that was asked for.
    pub(super) then: Resources,
}

impl<'a> History<'a> {
    /// What `operations` of `operator` do to `world`. Who is in a group that is autoscaled, and in which role,
    /// is not for an operator to say.
    pub(super) fn of(
        operations: &[WrittenOperation<'_>],
        mut operator: Operator,
        (world, moment): (&'a ScenarioBuilder, Option<SimTime>),
    ) -> Result<Self, Problem> {
        let mut then = operator.plane.resources.clone();
        let times =
            operations.iter().map(|operation| before_the_end(operation.at, &world.timing, &operation.path));
        times.collect::<Result<Vec<_>, _>>()?;
        let mut existing = vec![(SimTime::ZERO, operator.plane.backends())];
        let done = in_time(operations).into_iter().map(|operation| {
            let WrittenOperation { at, call, node, path } = operation;
            let has = |key: &str| node.get(key).is_some();
            let ways = operator.ways();
            let changes =
                call.by(&mut operator).map_err(|error| Problem::of_operation(error, path, *at, has))?;
            if operator.ways() != ways {
                let what =
                    "changes where a route leads clients or their answers, which stays as it is in a run";
                return refuse(path.clone(), what, "leave the operation out, and compare arms");
            }
            if changes.iter().filter_map(RegionChange::member).any(|backend| world.is_autoscaled(backend)) {
                let what = "changes the members of a group that has an autoscaling_policy";
                return refuse(path.clone(), what, "leave the operation out, or the policy");
            }
            let at = SimTime::ZERO + *at;
            existing.push((at, operator.plane.backends()));
            if moment.is_some_and(|moment| at <= moment) {
                then = operator.plane.resources.clone();
            }
            Ok(Operation { at, changes, words: operation.words() })
        });
        let operations = done.collect::<Result<_, _>>()?;
        Ok(Self { world, operations, existing, last: operator.plane, then })
    }

    /// The backends that serve at time `at`, before what happens then: those that exist, and those that were removed and
    /// still drain.
    pub(super) fn running(&self, at: SimTime) -> BTreeSet<BackendId> {
        let draining_timeout = self.world.draining_timeout();
        let ends = self.existing.iter().skip(1).map(|(end, _)| *end).chain([SimTime::NEVER]);
        let states = self.existing.iter().zip(ends).enumerate();
        let current = states.filter(|(number, ((start, _), end))| {
            let has_begun = *number == 0 || *start < at;
            has_begun && (*end >= at || *end + draining_timeout > at)
        });
        current.flat_map(|(_, ((_, backends), _))| backends.iter().copied()).collect()
    }
}
