//! What the CUDA driver says: whether it starts, its version, its GPUs. NVML knows more, but may be missing, and does
//! not know why CUDA does not start.

use std::ffi::{CStr, c_char, c_int, c_uint};

use libloading::Library;

use super::nvml::cuda_version;
use crate::arch::Capability;
use crate::machine::{ComputeMode, Device, DeviceKind, DeviceState, DriverAnswer, DriverFailure};

/// `CU_DEVICE_ATTRIBUTE_*` (cuda.h).
const COMPUTE_MODE: c_int = 20;
const ECC_ENABLED: c_int = 32;
const MAJOR: c_int = 75;
const MINOR: c_int = 76;

/// The functions that are called; all but the first need `cuInit`.
struct Driver<'a> {
    library: &'a Library,
}

impl Driver<'_> {
    fn version(&self) -> Result<c_int, DriverFailure> {
        let mut version = 0;
        // SAFETY: CUresult cuDriverGetVersion(int *).
        let code =
            unsafe { self.symbol::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cuDriverGetVersion\0")?(&mut version) };
        self.check("cuDriverGetVersion", code).map(|()| version)
    }

    fn init(&self) -> Result<(), DriverFailure> {
        // SAFETY: CUresult cuInit(unsigned).
        let code = unsafe { self.symbol::<unsafe extern "C" fn(c_uint) -> c_int>(b"cuInit\0")?(0) };
        self.check("cuInit", code)
    }

    fn count(&self) -> Result<c_int, DriverFailure> {
        let mut count = 0;
        // SAFETY: CUresult cuDeviceGetCount(int *).
        let code =
            unsafe { self.symbol::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cuDeviceGetCount\0")?(&mut count) };
        self.check("cuDeviceGetCount", code).map(|()| count)
    }

    fn attribute(&self, device: c_int, attribute: c_int) -> Result<c_int, DriverFailure> {
        type Get = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
        let mut value = 0;
        // SAFETY: CUresult cuDeviceGetAttribute(int *, CUdevice_attribute, CUdevice).
        let code = unsafe { self.symbol::<Get>(b"cuDeviceGetAttribute\0")?(&mut value, attribute, device) };
        self.check("cuDeviceGetAttribute", code).map(|()| value)
    }

    fn device(&self, ordinal: c_int) -> Result<(Device, DeviceState), DriverFailure> {
        type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
        type Memory = unsafe extern "C" fn(*mut usize, c_int) -> c_int;
        let mut device = 0;
        // SAFETY: CUresult cuDeviceGet(CUdevice *, int).
        let code = unsafe {
            self.symbol::<unsafe extern "C" fn(*mut c_int, c_int) -> c_int>(b"cuDeviceGet\0")?(&mut device, ordinal)
        };
        self.check("cuDeviceGet", code)?;
        let mut text = [0 as c_char; 256];
        // SAFETY: CUresult cuDeviceGetName(char *, int, CUdevice), which ends the text with a zero.
        let code = unsafe { self.symbol::<Name>(b"cuDeviceGetName\0")?(text.as_mut_ptr(), 255, device) };
        self.check("cuDeviceGetName", code)?;
        let bytes = text.map(|byte| byte.to_ne_bytes()[0]);
        let name = CStr::from_bytes_until_nul(&bytes).map(|text| text.to_string_lossy().into_owned());
        let mut memory = 0;
        // SAFETY: CUresult cuDeviceTotalMem_v2(size_t *, CUdevice).
        let code = unsafe { self.symbol::<Memory>(b"cuDeviceTotalMem_v2\0")?(&mut memory, device) };
        let memory = self.check("cuDeviceTotalMem", code).ok().map(|()| memory as u64);
        let number = |value: c_int| u8::try_from(value).unwrap_or(0);
        let capability =
            Capability::new(number(self.attribute(device, MAJOR)?), number(self.attribute(device, MINOR)?));
        let index = u32::try_from(ordinal).unwrap_or(0);
        let compute_mode = match self.attribute(device, COMPUTE_MODE) {
            Ok(2) => ComputeMode::Prohibited,
            Ok(1 | 3) => ComputeMode::Exclusive,
            _ => ComputeMode::Default,
        };
        let ecc = self.attribute(device, ECC_ENABLED).ok().map(|value| value != 0);
        let device = Device { index, name: name.unwrap_or_default(), kind: DeviceKind::Cuda { capability }, memory };
        Ok((device, DeviceState { index, compute_mode, ecc, mig_instances: None }))
    }

    fn symbol<T: Copy>(&self, name: &'static [u8]) -> Result<T, DriverFailure> {
        // SAFETY: each caller names the type that cuda.h declares for this function.
        let symbol = unsafe { self.library.get::<T>(name) };
        symbol.map(|symbol| *symbol).map_err(|error| DriverFailure::new(None, error.to_string()))
    }

    /// A code other than `CUDA_SUCCESS`, with the driver's own words for it.
    fn check(&self, call: &str, code: c_int) -> Result<(), DriverFailure> {
        type Words = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
        if code == 0 {
            return Ok(());
        }
        let mut text = std::ptr::null();
        let words = self.symbol::<Words>(b"cuGetErrorString\0").ok();
        // SAFETY: CUresult cuGetErrorString(CUresult, const char **), which gives a text of its own or null.
        let known = words.is_some_and(|words| unsafe { words(code, &mut text) } == 0) && !text.is_null();
        // SAFETY: the text is the driver's own and ends with a zero.
        let words = known.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
        let words = words.unwrap_or_else(|| "no words for it".to_owned());
        Err(DriverFailure::new(Some(i64::from(code)), format!("{call}: {words}")))
    }
}

/// What the library at a path says; about GPUs only if it is started.
pub(super) fn ask(path: &str, start: bool) -> DriverAnswer {
    let mut answer = DriverAnswer { unstarted: !start, ..DriverAnswer::default() };
    // SAFETY: it is the driver that every CUDA program of this machine opens in the same way.
    let library = match unsafe { Library::new(path) } {
        Ok(library) => library,
        Err(error) => {
            answer.failure = Some(DriverFailure::new(None, error.to_string()));
            return answer;
        }
    };
    let driver = Driver { library: &library };
    match driver.version() {
        Ok(version) => answer.cuda = cuda_version(version),
        Err(failure) => answer.failure = Some(failure),
    }
    if start && answer.failure.is_none() {
        let count = driver.init().and_then(|()| driver.count());
        let found =
            count.and_then(|count| (0..count).map(|ordinal| driver.device(ordinal)).collect::<Result<Vec<_>, _>>());
        match found {
            Ok(found) => (answer.devices, answer.states) = found.into_iter().unzip(),
            Err(failure) => answer.failure = Some(failure),
        }
    }
    // The driver starts threads of its own; taking its code away would end this process.
    std::mem::forget(library);
    answer
}
