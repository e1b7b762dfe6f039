//! Arithmetic on floats: which of it every device rounds alike, and which it may do in its own way.
//!
//! Additions, subtractions and multiplications are correctly rounded ("Vulkan Specification", precision and operation of
//! SPIR-V instructions), but a device may join two of them to one, or change their order, unless the module forbids it.
//! Everything else has an error that devices choose, or an order.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

const EXT_INST: u32 = 12;
/// FAdd, FSub, FMul, VectorTimesScalar, MatrixTimesScalar, OuterProduct.
const ROUNDED: [u32; 6] = [129, 131, 133, 142, 143, 147];
/// Group operations begin with a scope in the place of an operand; the result stands where it always does.
const UNPROMISED: [(u32, &str); 16] = [
    (136, "FDiv"),
    (140, "FRem"),
    (141, "FMod"),
    (144, "VectorTimesMatrix"),
    (145, "MatrixTimesVector"),
    (146, "MatrixTimesMatrix"),
    (148, "Dot"),
    (207, "DPdx"),
    (208, "DPdy"),
    (209, "Fwidth"),
    (265, "GroupFAdd"),
    (350, "GroupNonUniformFAdd"),
    (352, "GroupNonUniformFMul"),
    (5610, "GroupFAddNonUniformAMD"),
    (6035, "AtomicFAddEXT"),
    (6404, "GroupFMulKHR"),
];
/// Of `GLSL.std.450` ("SPIR-V Extended Instructions for GLSL", 1.00): those without a promise of bits.
const FUNCTIONS: [(u32, &str); 36] = [
    (11, "Radians"),
    (12, "Degrees"),
    (13, "Sin"),
    (14, "Cos"),
    (15, "Tan"),
    (16, "Asin"),
    (17, "Acos"),
    (18, "Atan"),
    (19, "Sinh"),
    (20, "Cosh"),
    (21, "Tanh"),
    (22, "Asinh"),
    (23, "Acosh"),
    (24, "Atanh"),
    (25, "Atan2"),
    (26, "Pow"),
    (27, "Exp"),
    (28, "Log"),
    (29, "Exp2"),
    (30, "Log2"),
    (31, "Sqrt"),
    (32, "InverseSqrt"),
    (33, "Determinant"),
    (34, "MatrixInverse"),
    (46, "FMix"),
    (49, "SmoothStep"),
    (50, "Fma"),
    (66, "Length"),
    (67, "Distance"),
    (68, "Cross"),
    (69, "Normalize"),
    (70, "FaceForward"),
    (71, "Reflect"),
    (72, "Refract"),
    (76, "InterpolateAtCentroid"),
    (77, "InterpolateAtSample"),
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
        if ROUNDED.contains(&code) {
            let result = words.get(2)?;
            let count = if self.kept.contains(result) { &mut self.found.kept } else { &mut self.found.joinable };
            *count = count.saturating_add(1);
        } else if code == EXT_INST {
            let (set, function) = (words.get(3)?, words.get(4)?);
            if self.sets.get(set) == Some(&true)
                && let Some((_, name)) = FUNCTIONS.iter().find(|(number, _)| number == function)
            {
                self.found.unpromised.insert((*name).to_owned());
            }
        } else if let Some((_, name)) = UNPROMISED.iter().find(|(number, _)| *number == code) {
            self.found.unpromised.insert((*name).to_owned());
        }
        Some(())
    }

    /// What was found.
    pub(super) fn finish(self) -> FloatArithmetic {
        self.found
    }
}
