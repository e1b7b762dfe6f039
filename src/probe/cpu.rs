//! The processor.

use crate::elf::resolve::Cpu;

/// The processor of this machine as its loader sees it.
pub fn this_cpu() -> Cpu {
    let mut cpu = Cpu::x86_64(1);
    #[cfg(target_arch = "x86_64")]
    {
        let has = [
            // The psABI's levels. cmpxchg16b stands for level 2, movbe and lzcnt for level 3.
            std::is_x86_feature_detected!("sse4.2")
                && std::is_x86_feature_detected!("ssse3")
                && std::is_x86_feature_detected!("popcnt")
                && std::is_x86_feature_detected!("cmpxchg16b"),
            std::is_x86_feature_detected!("avx2")
                && std::is_x86_feature_detected!("bmi1")
                && std::is_x86_feature_detected!("bmi2")
                && std::is_x86_feature_detected!("f16c")
                && std::is_x86_feature_detected!("fma")
                && std::is_x86_feature_detected!("lzcnt")
                && std::is_x86_feature_detected!("movbe"),
            std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw")
                && std::is_x86_feature_detected!("avx512cd")
                && std::is_x86_feature_detected!("avx512dq")
                && std::is_x86_feature_detected!("avx512vl"),
        ];
        cpu.level += u32::try_from(has.iter().take_while(|has| **has).count()).unwrap_or(0);
        // Intel's processors have a platform of their own (glibc, `sysdeps/x86/cpu-features.c`).
        if vendor() == *b"GenuineIntel" {
            if has[2] {
                cpu.legacy.insert(0, "avx512_1".to_owned());
            }
            if has[1] {
                "haswell".clone_into(&mut cpu.platform);
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        std::env::consts::ARCH.clone_into(&mut cpu.platform);
        cpu.legacy.clear();
    }
    cpu
}

#[cfg(target_arch = "x86_64")]
fn vendor() -> [u8; 12] {
    let leaf = std::arch::x86_64::__cpuid(0);
    let mut text = [0; 12];
    for (place, register) in text.chunks_mut(4).zip([leaf.ebx, leaf.edx, leaf.ecx]) {
        place.copy_from_slice(&register.to_le_bytes());
    }
    text
}
