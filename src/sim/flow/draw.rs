//! What a connection draws: each kind of draw has a stream of its own, so that every arm draws the same.

use rand::Rng;
use rand_xoshiro::SplitMix64;

use super::Flow;
use crate::random::{Distribution, Quantity, below, open_unit};

#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Draw {
    Requests,
    SynTrip,
    RequestTrip,
    Service,
    Think,
    RequestBytes,
    ResponseBytes,
    Destination,
    Fragmented,
    SynLoss,
    SynAckLoss,
    SynAckLossAgain,
    RequestLoss,
    ResponseLoss,
}

impl Draw {
    /// The number of `flow`'s latest draw of this kind: of its SYN, of its request, or of that one's sending.
    #[inline]
    fn number(self, flow: &Flow) -> u32 {
        match self {
            Self::Requests | Self::Destination => 0,
            Self::SynTrip | Self::SynLoss | Self::SynAckLoss => u32::from(flow.syn_retries),
            Self::SynAckLossAgain => u32::from(flow.resends),
            Self::RequestLoss | Self::ResponseLoss => {
                flow.requests_sent << 5 | u32::from(flow.resends.min(31))
            }
            _ => flow.requests_sent,
        }
    }
}

impl Flow {
    #[inline]
    fn draws(&self, what: Draw) -> SplitMix64 {
        self.key.draws_of(u64::from(what.number(self)) << 8 | what as u64)
    }

    pub(in super::super) fn unit(&self, what: Draw) -> f64 {
        open_unit(self.draws(what).next_u64())
    }

    /// One of `count` numbers from 0 on, each as likely as any other.
    pub(in super::super) fn choose(&self, what: Draw, count: u16) -> u16 {
        if count == 1 {
            return 0;
        }
        below(self.draws(what).next_u64(), u64::from(count)) as u16
    }

    #[inline]
    pub(in super::super) fn draw<Q: Quantity>(&self, what: Draw, law: &Distribution<Q>) -> Q {
        law.constant_value().unwrap_or_else(|| law.sample_of(self.draws(what)))
    }
}
