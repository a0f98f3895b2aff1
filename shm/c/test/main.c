#include "peer.h"

int main(int argc, char **argv)
{
    static const struct {
        const char *verb;
        int (*run)(int, char **);
    } verbs[] = {{"selftest", selftest}, {"abi", abi}, {"drive", drive}, {"flood", flood}, {"follow", follow},
                 {"hostile", hostile}, {"probe", probe}, {"bench", bench}};
    for (size_t i = 0; argc > 1 && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(argv[1], verbs[i].verb) == 0)
            return verbs[i].run(argc - 2, argv + 2);
    fprintf(stderr, "peer: want selftest, abi, drive, flood, follow, hostile, probe or bench\n");
    return 2;
}
