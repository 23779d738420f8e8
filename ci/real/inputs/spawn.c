/* Starts /bin/child by posix_spawn and by vfork, with pipes, and waits for it. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const environment[] = {"NAME=value", NULL};

static void drain(int from)
{
    char text[256];
    ssize_t length;
    while ((length = read(from, text, sizeof text)) > 0)
        fwrite(text, 1, (size_t)length, stdout);
    close(from);
}

static void wait_for(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) != child)
        exit(1);
    printf("exited %d with status %d\n", WIFEXITED(status), WEXITSTATUS(status));
}

static void by_spawn(void)
{
    int in[2], out[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe(in) != 0 || pipe(out) != 0)
        exit(1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    for (int i = 0; i < 2; i++) {
        posix_spawn_file_actions_addclose(&actions, in[i]);
        posix_spawn_file_actions_addclose(&actions, out[i]);
    }
    char *const arguments[] = {"child", "one", "two", NULL};
    if (posix_spawn(&child, "/bin/child", &actions, NULL, arguments, environment) != 0)
        exit(1);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    if (write(in[1], "from the parent\n", 16) != 16)
        exit(1);
    close(in[1]);
    drain(out[0]);
    wait_for(child);
}

static void by_vfork(void)
{
    int out[2];
    if (pipe(out) != 0)
        exit(1);
    char *const arguments[] = {"child", "three", NULL};
    pid_t child = vfork();
    if (child == 0) {
        dup2(out[1], 1);
        close(0);
        close(out[0]);
        close(out[1]);
        execve("/bin/child", arguments, environment);
        _exit(127);
    }
    close(out[1]);
    drain(out[0]);
    wait_for(child);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    by_spawn();
    by_vfork();
    pid_t child;
    char *const arguments[] = {"none", NULL};
    int error = posix_spawn(&child, "/bin/none", NULL, NULL, arguments, environment);
    printf("no such program: %d\n", error == ENOENT);
    return 0;
}
