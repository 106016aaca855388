/**
 * Loaded first in the process of each test file: at its end it notes, in the directory that
 * CAPSTAN_TEST_CPU names, how much CPU time the file took with all processes that it started and
 * waited for. Only Linux tells (in /proc); elsewhere nothing is noted.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";

const directory = process.env.CAPSTAN_TEST_CPU;
const file = process.argv[1] ?? "";
const ticksPerSecond = 100;

// Processes and threads that a test starts inherit the option that loads this.
if (isMainThread && directory !== undefined && /\.test\.m?[jt]s$/.test(file)) {
  process.on("exit", () => {
    const seconds = cpuSeconds();
    if (seconds === undefined) return;
    writeFileSync(join(directory, `${process.pid}.json`), JSON.stringify({ file, seconds }));
  });
}

/** The process's own time and that of its children, user and system. */
function cpuSeconds() {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return ticks / ticksPerSecond;
  } catch {
    return undefined;
  }
}
