#!/usr/bin/env node
/**
 * Starts Capstan. Plain JavaScript, because it must run on whatever Node is there: one that is too old
 * gives way to the one that the clone brings along (the `node` package, a development dependency).
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { availableParallelism, homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const majorMin = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));

if (Number(process.versions.node.split(".")[0]) < majorMin) {
  relaunch(
    join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node"),
  );
} else {
  await run();
}

async function run() {
  // DuckDB's calls wait in libuv's pool; with its four threads a few queries would hold up every file.
  process.env.UV_THREADPOOL_SIZE ??= String(Math.max(16, availableParallelism() + 8));
  // For the processes that this one starts: buffers of 128 KiB and more (a decoded column is one) go back to the system when they
  // are freed. By itself glibc keeps more and more of them.
  process.env.MALLOC_MMAP_THRESHOLD_ ??= String(128 * 1024);
  keepCompiledCode();
  const { main } = await import(pathToFileURL(await program()).href);
  process.exit(await main(process.argv.slice(2)));
}

/**
 * What was built of the sources: in a package always, in a clone where it is as new as they are (`npm start` builds it). A
 * process of it starts in half the time and takes little more than half the memory. Otherwise the sources.
 */
async function program() {
  if (process.env.CAPSTAN_PROGRAM !== undefined) return process.env.CAPSTAN_PROGRAM;
  const source = join(root, "src", "cli", "main.ts");
  if (!existsSync(source)) return join(root, "dist", "program", "main.mjs");
  const built = (await import("../tools/built-program.js")).builtProgram();
  return existsSync(built) ? built : source;
}

/**
 * Compiled code is kept between starts, where no other user can put any; named in the environment, since threads
 * and children take it from there. Without a home there is none, and starting takes a little longer.
 */
function keepCompiledCode() {
  try {
    const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
    process.env.NODE_COMPILE_CACHE ??= join(cache, "capstan", "compile-cache");
    module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
  } catch {
    // A user that the system does not know has no home.
  }
}

function relaunch(newerNode) {
  if (!existsSync(newerNode)) {
    process.stderr.write(
      `capstan: this is Node ${process.versions.node}, and Capstan needs Node ${majorMin} or newer.\n` +
        `hint:  in a clone, \`npm install\` brings one along; elsewhere, see https://nodejs.org\n`,
    );
    process.exit(2);
  }
  // The channel tells the other side when this process is gone, however it went.
  const child = spawn(newerNode, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: { ...process.env, CAPSTAN_LAUNCHED: "1" },
  });
  process.on("SIGINT", () => undefined); // A terminal sends it to both; the child decides.
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  // Whoever started us with a channel of their own talks to the process that does the work.
  if (process.send !== undefined) {
    child.on("message", (message) => process.connected && process.send(message));
    process.on("disconnect", () => child.connected && child.disconnect());
  }
  child.on("error", (error) => {
    process.stderr.write(`capstan: cannot start ${newerNode}: ${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
