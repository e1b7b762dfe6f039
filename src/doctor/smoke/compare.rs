//! What one run printed against what the CPU printed.

use serde_json::Value;

use crate::recipe::Smoke;

/// What agrees, or what does not, in words.
pub(super) fn compare(smoke: &Smoke, cpu: &Value, other: &Value) -> Result<Vec<String>, Vec<String>> {
    let (mut agrees, mut differs) = (Vec::new(), Vec::new());
    for pointer in &smoke.equal {
        match (cpu.pointer(pointer), other.pointer(pointer)) {
            (None, _) => differs.push(format!("the CPU's run prints no {pointer}")),
            (Some(_), None) => differs.push(format!("it prints no {pointer}")),
            (Some(cpu), Some(other)) if cpu == other => agrees.push(pointer.clone()),
            (Some(cpu), Some(other)) => {
                differs.push(format!("{pointer} is {}, {} on the CPU", short(other), short(cpu)))
            }
        }
    }
    for (pointer, &digits) in &smoke.near {
        let number = |value: &Value| value.pointer(pointer).and_then(Value::as_f64);
        match (number(cpu), number(other)) {
            (Some(cpu), Some(other)) if is_near(cpu, other, digits) => {
                agrees.push(format!("{pointer} to {digits} digits"));
            }
            (Some(cpu), Some(other)) => differs.push(format!("{pointer} is {other}, {cpu} on the CPU")),
            (None, _) => differs.push(format!("the CPU's run prints no number {pointer}")),
            (_, None) => differs.push(format!("it prints no number {pointer}")),
        }
    }
    if differs.is_empty() { Ok(agrees) } else { Err(differs) }
}

/// Whether two numbers agree to so many significant digits: half a unit of the last one, of the larger number.
fn is_near(one: f64, other: f64, digits: u32) -> bool {
    let largest = one.abs().max(other.abs());
    let tolerance = 0.5 * 10f64.powi(1 - i32::try_from(digits).unwrap_or(17)) * largest;
    one.is_finite() && other.is_finite() && (one - other).abs() <= tolerance
}

/// A value in a line: long texts (digests) by their beginning.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(20) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn smoke() -> Smoke {
        let near = [("/rate".to_owned(), 4)].into();
        let equal = vec!["/digest".to_owned()];
        Smoke {
            command: Vec::new(),
            cpu: Vec::new(),
            cuda: Vec::new(),
            vulkan: Vec::new(),
            equal,
            near,
            code: None,
            seconds: None,
            limit: 1,
        }
    }

    #[test]
    fn equal_is_equal_and_near_is_near() {
        let cpu = json!({"digest": "ab", "rate": 12.3456});
        assert_eq!(
            compare(&smoke(), &cpu, &json!({"digest": "ab", "rate": 12.3480})),
            Ok(vec!["/digest".to_owned(), "/rate to 4 digits".to_owned()])
        );
        assert_eq!(
            compare(&smoke(), &cpu, &json!({"digest": "cd", "rate": 12.4})),
            Err(vec![
                "/digest is \"cd\", \"ab\" on the CPU".to_owned(),
                "/rate is 12.4, 12.3456 on the CPU".to_owned()
            ])
        );
        let gone = compare(&smoke(), &json!({"digest": "ab"}), &json!({"rate": 1})).unwrap_err();
        assert_eq!(gone, ["it prints no /digest", "the CPU's run prints no number /rate"]);
        assert!(is_near(0.0, 0.0, 6) && !is_near(f64::NAN, f64::NAN, 6) && !is_near(1.0, -1.0, 2));
    }
}
