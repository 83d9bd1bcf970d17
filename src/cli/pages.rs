//! Large pages of memory, for runs with many connections.
//!
//! Tables of millions of entries are read in no order, so nearly every read misses the processor's list of page addresses
//! too, and in a virtual machine finding the address takes longer than the read. Pages of 2 MiB make that rare: with 10^6
//! open connections a run takes a third less time. glibc's allocator asks the kernel for them if its tunables say so,
//! which it reads once, before `main`; so zonesim starts itself again with them, in the same process.

/// Starts this program again, in the same process, with an allocator that asks for large pages. Does nothing if it was
/// started with tunables, of zonesim or of the user, or where that is impossible.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn use_large() {
    use std::os::unix::process::CommandExt;

    const VARIABLE: &str = "GLIBC_TUNABLES";
    /// Large pages, and one heap that grows in large steps: the kernel has none for many small mappings.
    const TUNABLES: &str =
        "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4000000000:glibc.malloc.top_pad=67108864";

    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    let mut arguments = std::env::args_os();
    if let (Ok(program), Some(name)) = (std::env::current_exe(), arguments.next()) {
        // It comes back only if it failed, and then the run goes on in small pages.
        let _failed =
            std::process::Command::new(program).arg0(name).args(arguments).env(VARIABLE, TUNABLES).exec();
    }
}

/// Does nothing: only glibc's allocator can be told so.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn use_large() {}
