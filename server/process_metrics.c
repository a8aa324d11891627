#include "server/process_metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void write_gauge(struct text_buffer *out, const char *name, const char *help, double value) {
    text_printf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %.15g\n", name, help, name, name, value);
}

static int count_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    int n = -1; /* the descriptor of the folder itself */
    if (!folder) return 0;
    for (struct dirent *entry; (entry = readdir(folder));) n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

/* Fields of /proc/self/stat behind the command name, which may hold blanks: field 3 comes first. */
struct process_stat {
    unsigned long long start_ticks, virtual_bytes;
    long resident_pages, n_threads;
};

static void stat_read(struct process_stat *out) {
    char line[1024];
    memset(out, 0, sizeof *out);
    FILE *file = fopen("/proc/self/stat", "r");
    size_t n = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file) fclose(file);
    line[n] = 0;
    const char *rest = strrchr(line, ')');
    if (!rest) return;
    int got = sscanf(rest + 1,
                     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld "
                     "%*d %llu %llu %ld",
                     &out->n_threads, &out->start_ticks, &out->virtual_bytes, &out->resident_pages);
    if (got != 4) memset(out, 0, sizeof *out);
}

static double start_time_s(unsigned long long start_ticks) {
    struct timespec now, up;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    double boot_s = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) * 1e-9;
    return boot_s + (double)start_ticks / (double)sysconf(_SC_CLK_TCK);
}

void process_metrics_write(struct text_buffer *out) {
    struct rusage used;
    struct rlimit descriptors;
    struct process_stat stat;
    stat_read(&stat);
    getrusage(RUSAGE_SELF, &used);
    double cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    text_printf(out,
                "# HELP process_cpu_seconds_total User and system time\n"
                "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %.15g\n",
                cpu_s);
    write_gauge(out, "process_resident_memory_bytes", "Resident memory",
                (double)stat.resident_pages * (double)sysconf(_SC_PAGESIZE));
    write_gauge(out, "process_virtual_memory_bytes", "Virtual memory", (double)stat.virtual_bytes);
    write_gauge(out, "process_open_fds", "Open descriptors", count_descriptors());
    if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
        write_gauge(out, "process_max_fds", "Descriptors the process may open",
                    (double)descriptors.rlim_cur);
    }
    write_gauge(out, "process_threads", "Threads", (double)stat.n_threads);
    write_gauge(out, "process_start_time_seconds", "Start, Unix time",
                start_time_s(stat.start_ticks));
}
