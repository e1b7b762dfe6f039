//! Arithmetic on floats: which of it every device rounds alike, and which it may do in its own way.
//!
//! Additions, subtractions and multiplications are correctly rounded ("Vulkan Specification", precision and operation of
//! SPIR-V instructions), but a device may join two of them to one, or change their order, unless the module forbids it.
//! Everything else has an error that devices choose, or an order.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spirq::spirv::{GLOp, Op};

/// Arithmetic on floats in the functions of a module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FloatArithmetic {
    /// Additions, subtractions and multiplications that no device may join with others (`NoContraction`).
    pub kept: u32,
    /// Those that a device may join with others, or do in another order.
    pub joinable: u32,
    /// Operations whose bits Vulkan leaves to the device: divisions, functions, atomic additions; by name.
    pub unpromised: BTreeSet<String>,
}

impl FloatArithmetic {
    /// Whether every device gives the same bits.
    pub fn is_exact(&self) -> bool {
        self.joinable == 0 && self.unpromised.is_empty()
    }
}

/// What is seen of a module on the way to its arithmetic.
#[derive(Debug, Default)]
pub(super) struct Arithmetic {
    /// Results that are decorated `NoContraction`.
    kept: BTreeSet<u32>,
    /// Whether these are the standard functions of shaders (`GLSL.std.450`).
    sets: BTreeMap<u32, bool>,
    found: FloatArithmetic,
}

/// Correctly rounded, unless they are joined with others.
const ROUNDED: [Op; 6] = [Op::FAdd, Op::FSub, Op::FMul, Op::VectorTimesScalar, Op::MatrixTimesScalar, Op::OuterProduct];
/// Of which no bits are promised.
const UNPROMISED: [Op; 16] = [
    Op::FDiv,
    Op::FRem,
    Op::FMod,
    Op::VectorTimesMatrix,
    Op::MatrixTimesVector,
    Op::MatrixTimesMatrix,
    Op::Dot,
    Op::DPdx,
    Op::DPdy,
    Op::Fwidth,
    Op::GroupFAdd,
    Op::GroupNonUniformFAdd,
    Op::GroupNonUniformFMul,
    Op::GroupFAddNonUniformAMD,
    Op::AtomicFAddEXT,
    Op::GroupFMulKHR,
];
/// Of `GLSL.std.450` ("SPIR-V Extended Instructions for GLSL", 1.00): those without a promise of bits.
const FUNCTIONS: [GLOp; 36] = [
    GLOp::Radians,
    GLOp::Degrees,
    GLOp::Sin,
    GLOp::Cos,
    GLOp::Tan,
    GLOp::Asin,
    GLOp::Acos,
    GLOp::Atan,
    GLOp::Sinh,
    GLOp::Cosh,
    GLOp::Tanh,
    GLOp::Asinh,
    GLOp::Acosh,
    GLOp::Atanh,
    GLOp::Atan2,
    GLOp::Pow,
    GLOp::Exp,
    GLOp::Log,
    GLOp::Exp2,
    GLOp::Log2,
    GLOp::Sqrt,
    GLOp::InverseSqrt,
    GLOp::Determinant,
    GLOp::MatrixInverse,
    GLOp::FMix,
    GLOp::SmoothStep,
    GLOp::Fma,
    GLOp::Length,
    GLOp::Distance,
    GLOp::Cross,
    GLOp::Normalize,
    GLOp::FaceForward,
    GLOp::Reflect,
    GLOp::Refract,
    GLOp::InterpolateAtCentroid,
    GLOp::InterpolateAtSample,
];

impl Arithmetic {
    /// A result of which the module says `NoContraction`.
    pub(super) fn keeps(&mut self, result: u32) {
        self.kept.insert(result);
    }

    /// A set of instructions beyond those of SPIR-V, by its number and name.
    pub(super) fn imports(&mut self, set: u32, name: &str) {
        self.sets.insert(set, name == "GLSL.std.450");
    }

    /// An instruction of a function; `None` if it lacks an operand.
    pub(super) fn instruction(&mut self, code: u32, words: &[u32]) -> Option<()> {
        let Some(code) = Op::from_u32(code) else { return Some(()) };
        if ROUNDED.contains(&code) {
            let result = words.get(2)?;
            let count = if self.kept.contains(result) { &mut self.found.kept } else { &mut self.found.joinable };
            *count = count.saturating_add(1);
        } else if code == Op::ExtInst {
            let (set, function) = (words.get(3)?, words.get(4)?);
            let function = GLOp::from_u32(*function).filter(|function| FUNCTIONS.contains(function));
            if let (Some(true), Some(function)) = (self.sets.get(set), function) {
                self.found.unpromised.insert(format!("{function:?}"));
            }
        } else if UNPROMISED.contains(&code) {
            self.found.unpromised.insert(format!("{code:?}"));
        }
        Some(())
    }

    /// What was found.
    pub(super) fn finish(self) -> FloatArithmetic {
        self.found
    }
}
