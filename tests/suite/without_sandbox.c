/* Starts a program on which, and on whose descendants, the kernel lays no namespace and no Landlock: as on a machine where
 * administrators allow neither. With KEEP_LANDLOCK it lays that. x86-64. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE(number, error) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
/* CLONE_NEWNS, and those from CLONE_NEWCGROUP to CLONE_NEWNET. */
#define NAMESPACES 0x7e020000

int main(int count, char **words) {
    struct sock_filter rules[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        LOAD(nr),
        REFUSE(SYS_unshare, EPERM),
        REFUSE(SYS_mount, EPERM),
        REFUSE(SYS_setns, EPERM),
        /* The C library goes on with clone. */
        REFUSE(435, ENOSYS),
#ifndef KEEP_LANDLOCK
        /* landlock_create_ruleset */
        REFUSE(444, ENOSYS),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("without_sandbox");
        return 1;
    }
    execvp(words[1], words + 1);
    perror(words[1]);
    return 1;
}
