#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC */
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* sg_socket_path finds the appliance: what the caller says, else $SKEWGATE_ATTACH, else
 * the folder that the appliance itself takes for root and for others. */
int sg_socket_path(char path[PATH_BYTES], const char *sock, sg_error *err)
{
    const char *env = getenv("SKEWGATE_ATTACH"), *run = getenv("XDG_RUNTIME_DIR");
    int n;
    if (sock == NULL || sock[0] == 0)
        sock = env;
    if (sock != NULL && sock[0] != 0)
        n = snprintf(path, PATH_BYTES, "%s", sock);
    else if (geteuid() == 0)
        n = snprintf(path, PATH_BYTES, "/run/skewgate/attach.sock");
    else if (run != NULL && run[0] == '/')
        n = snprintf(path, PATH_BYTES, "%s/skewgate/attach.sock", run);
    else
        return sg_fail(err, SG_E_ARGUMENT, 0,
                       "attach: no place to look: set SKEWGATE_ATTACH to the path of the appliance's attach.sock");
    if (n >= PATH_BYTES)
        return sg_fail(err, SG_E_TOO_LARGE, 0,
                       "attach: the socket's path has %d bytes, the kernel takes %d: use a shorter one", n,
                       PATH_BYTES - 1);
    return SG_OK;
}

/* Not blocking: a full backlog is an error at once, not a wait without bound. */
int sg_socket_connect(const char *path, sg_error *err)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    memcpy(to.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return sg_fail_system(err, errno, "attach at %s", path);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        int number = errno;
        close(fd);
        const char *cure = number == EACCES ? " (its folder and socket must be open to this user)"
                         : number == EAGAIN ? " (too many wait there; try again)"
                                            : " (is skewgate running? another place goes into SKEWGATE_ATTACH)";
        return sg_fail_system(err, number, "attach at %s%s", path, cure);
    }
    return fd;
}

/* Without SIGPIPE, which would end a detector whose appliance has just gone. */
int sg_socket_send(int fd, const char *packet, size_t length, sg_error *err)
{
    if (send(fd, packet, length, MSG_NOSIGNAL) == (ssize_t)length)
        return SG_OK;
    return sg_fail_system(err, errno, "send a packet of %zu bytes to the appliance", length);
}

void sg_close_files(int *files, int n)
{
    for (int i = 0; i < n; i++)
        if (files[i] >= 0)
            close(files[i]);
}

/* collect takes the descriptors out of a packet, and closes those that are too many. */
static int collect(struct msghdr *h, int files[MAX_FILES])
{
    int n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (n < MAX_FILES)
                files[n++] = fd;
            else
                close(fd);
        }
    }
    return n;
}

/* arrives waits for a packet, through signals. */
static int arrives(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t end = sg_now() + timeout_ms * MS;
    for (int64_t left = timeout_ms; left > 0; left = (end - sg_now()) / MS) {
        int n = poll(&p, 1, (int)left);
        if (n >= 0 || errno != EINTR)
            return n != 0;
    }
    return 0;
}

int sg_socket_receive(int fd, char *packet, int files[MAX_FILES], int *file_count, int timeout_ms, sg_error *err)
{
    union {
        struct cmsghdr header; /* for its alignment */
        char room[CMSG_SPACE(sizeof(int) * 256)]; /* the kernel sends at most 253 */
    } control;
    struct iovec io = {packet, MAX_PACKET};
    struct msghdr h = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *file_count = 0;
    if (timeout_ms > 0 && !arrives(fd, timeout_ms))
        return WOULD_WAIT;
    ssize_t n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) {
        if (errno == EAGAIN || errno == EINTR)
            return WOULD_WAIT;
        if (errno == ECONNRESET || errno == EPIPE)
            return 0;
        return sg_fail_system(err, errno, "receive from the appliance");
    }
    /* Taken out first: also a packet that is no good leaves no descriptor behind. */
    *file_count = collect(&h, files);
    if ((h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        sg_close_files(files, *file_count);
        *file_count = 0;
        return sg_fail(err, SG_E_PROTOCOL, 0,
                       "receive from the appliance: a packet of more than %d bytes, or more descriptors "
                       "than this process may open (see ulimit -n)",
                       MAX_PACKET);
    }
    return (int)n;
}
