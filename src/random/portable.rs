//! A 64-bit float whose mathematics is `libm`'s: that of the platform's library, which `f64` calls, differs between
//! processors. Over this float the distributions of `rand_distr` draw the same values on every machine.

use std::num::FpCategory;
use std::ops::Neg;

use num_derive::{Num, NumCast, NumOps, One, ToPrimitive, Zero};
use num_traits::Float;
use rand::Rng;
use rand_distr::{Distribution, Exp1, Open01, OpenClosed01, StandardNormal};

use super::ziggurat::{exponential, normal, open_unit};

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Num, NumCast, NumOps, One, ToPrimitive, Zero)]
pub(super) struct Portable(pub(super) f64);

/// What `rand_distr` draws itself, by our own ways.
macro_rules! draws {
    ($($law:ident: $draw:expr,)+) => {$(
        impl Distribution<Portable> for $law {
            fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Portable {
                Portable($draw(rng))
            }
        }
    )+};
}

draws! {
    Exp1: exponential,
    StandardNormal: normal,
    Open01: |rng: &mut R| open_unit(rng.next_u64()),
    OpenClosed01: |rng: &mut R| open_unit(rng.next_u64()),
}

impl Neg for Portable {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// Methods that are exact in every implementation go to `f64`, the others to `libm`.
macro_rules! float {
    (constants $($constant:ident)+; tests $($test:ident)+; exact $($exact:ident)+;
     unary $($unary:ident = $unary_libm:ident)+; binary $($binary:ident = $binary_libm:ident)+;) => {
        impl Float for Portable {
            $(fn $constant() -> Self { Self(<f64 as Float>::$constant()) })+
            $(fn $test(self) -> bool { f64::$test(self.0) })+
            $(fn $exact(self) -> Self { Self(Float::$exact(self.0)) })+
            $(fn $unary(self) -> Self { Self(libm::$unary_libm(self.0)) })+
            $(fn $binary(self, other: Self) -> Self { Self(libm::$binary_libm(self.0, other.0)) })+
            fn exp(self) -> Self { Self(super::exp::exp(self.0)) }
            fn classify(self) -> FpCategory { self.0.classify() }
            fn mul_add(self, a: Self, b: Self) -> Self { Self(libm::fma(self.0, a.0, b.0)) }
            fn powi(self, n: i32) -> Self { Self(libm::pow(self.0, <f64 as From<i32>>::from(n))) }
            fn log(self, base: Self) -> Self { self.ln() / base.ln() }
            fn abs_sub(self, other: Self) -> Self { Self(libm::fdim(self.0, other.0)) }
            fn sin_cos(self) -> (Self, Self) { (self.sin(), self.cos()) }
            fn integer_decode(self) -> (u64, i16, i8) { Float::integer_decode(self.0) }
        }
    };
}

float! {
    constants nan infinity neg_infinity neg_zero min_value min_positive_value max_value epsilon;
    tests is_nan is_infinite is_finite is_normal is_sign_positive is_sign_negative;
    exact floor ceil round trunc fract abs signum recip sqrt;
    unary exp2 = exp2 ln = log log2 = log2 log10 = log10 cbrt = cbrt exp_m1 = expm1 ln_1p = log1p
        sin = sin cos = cos tan = tan asin = asin acos = acos atan = atan
        sinh = sinh cosh = cosh tanh = tanh asinh = asinh acosh = acosh atanh = atanh;
    binary max = fmax min = fmin powf = pow hypot = hypot atan2 = atan2;
}
