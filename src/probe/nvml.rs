//! GPUs by NVML.

use std::ffi::OsStr;

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::ComputeMode as NvmlMode;
use nvml_wrapper::error::NvmlError;

use crate::arch::{Capability, CudaVersion};
use crate::machine::{ComputeMode, Device, DeviceKind, DeviceState, DriverAnswer, DriverFailure};

/// What the library at a path says.
pub(super) fn ask(path: &str) -> DriverAnswer {
    let nvml = match Nvml::builder().lib_path(OsStr::new(path)).init() {
        Ok(nvml) => nvml,
        Err(error) => {
            let failure = DriverFailure::new(code(&error), error.to_string());
            return DriverAnswer { failure: Some(failure), ..DriverAnswer::default() };
        }
    };
    let cuda = nvml.sys_cuda_driver_version().ok().and_then(cuda_version);
    let mut answer = DriverAnswer { version: nvml.sys_driver_version().ok(), cuda, ..DriverAnswer::default() };
    match nvml.device_count() {
        Ok(count) => (0..count).for_each(|index| match device(&nvml, index) {
            Ok((device, state)) => {
                answer.devices.push(device);
                answer.states.push(state);
            }
            Err(error) => {
                let text = format!("GPU {index}: {error}");
                answer.failure.get_or_insert(DriverFailure::new(code(&error), text));
            }
        }),
        Err(error) => answer.failure = Some(DriverFailure::new(code(&error), error.to_string())),
    }
    answer
}

/// 13000 is 13.0, 12040 is 12.4.
pub(super) fn cuda_version(number: i32) -> Option<CudaVersion> {
    let number = u32::try_from(number).ok().filter(|number| *number > 0)?;
    Some(CudaVersion::new(number / 1000, number % 1000 / 10))
}

fn device(nvml: &Nvml, index: u32) -> Result<(Device, DeviceState), NvmlError> {
    let device = nvml.device_by_index(index)?;
    let capability = device.cuda_compute_capability()?;
    let number = |value: i32| u8::try_from(value).unwrap_or(0);
    let capability = Capability::new(number(capability.major), number(capability.minor));
    let mode = match device.compute_mode() {
        Ok(NvmlMode::Prohibited) => ComputeMode::Prohibited,
        Ok(NvmlMode::ExclusiveProcess | NvmlMode::ExclusiveThread) => ComputeMode::Exclusive,
        _ => ComputeMode::Default,
    };
    // MIG: 1 is enabled. The count is that of possible instances; those that exist have a handle.
    let split = device.mig_mode().is_ok_and(|mode| mode.current == 1);
    let instances = || {
        let most = device.mig_device_count().unwrap_or(0);
        (0..most).filter(|index| device.mig_device_by_index(*index).is_ok()).count()
    };
    let state = DeviceState {
        index,
        compute_mode: mode,
        ecc: device.is_ecc_enabled().ok().map(|ecc| ecc.currently_enabled),
        mig_instances: split.then(|| u32::try_from(instances()).unwrap_or(0)),
    };
    let memory = device.memory_info().ok().map(|memory| memory.total);
    Ok((Device { index, name: device.name()?, kind: DeviceKind::Cuda { capability }, memory }, state))
}

/// `nvmlReturn_t` of those failures that say something about the machine (nvml.h).
fn code(error: &NvmlError) -> Option<i64> {
    Some(match error {
        NvmlError::NoPermission => 4,
        NvmlError::DriverNotLoaded => 9,
        NvmlError::LibraryNotFound => 12,
        NvmlError::FunctionNotFound => 13,
        NvmlError::GpuLost => 15,
        NvmlError::LibRmVersionMismatch => 18,
        NvmlError::Unknown => 999,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_nvml_fails_with_words() {
        let answer = ask("/no/such/libnvidia-ml.so.1");
        assert!(answer.failure.is_some_and(|failure| failure.code.is_none() && failure.text.contains("no/such")));
        assert_eq!(cuda_version(12040), Some(CudaVersion::new(12, 4)));
        assert_eq!(cuda_version(0), None);
    }
}
