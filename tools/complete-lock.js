/**
 * Completes package-lock.json after `npm install` against a registry that does not hold every
 * platform's binary package: npm then leaves those optional packages out of the lock file, and `npm
 * ci` refuses it, everywhere. Adds what is missing, with the platform that the package's name says,
 * so that other platforms fetch their own and this one skips them. Run by hand; `tidy/tidy.test.ts`
 * says when.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const systems = ["aix", "android", "darwin", "freebsd", "linux", "openharmony", "sunos", "win32"];
const processors = ["arm64", "arm", "ia32", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

/** `[name, version, parent]` of optional dependencies that have no entry. */
export function missingOptionals(lock) {
  const missing = new Map();
  for (const [path, entry] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const isThere =
        `${path}/node_modules/${name}` in lock.packages || `node_modules/${name}` in lock.packages;
      if (!isThere) missing.set(name, [name, version, entry]);
    }
  }
  return [...missing.values()];
}

/** Where a binary package runs, by the parts of its name: `@scope/thing-linux-arm64-musl`. */
export function platformOf(name) {
  const parts = name.slice(name.indexOf("/") + 1).split("-");
  const cpu = processors.filter((processor) => parts.includes(processor));
  const os = systems.filter((system) => parts.includes(system));
  const libc = parts.some((part) => part.startsWith("musl"))
    ? ["musl"]
    : parts.some((part) => part.startsWith("gnu"))
      ? ["glibc"]
      : [];
  return { cpu, os, libc };
}

function completeLock(file) {
  const lock = JSON.parse(readFileSync(file, "utf8"));
  const missing = missingOptionals(lock);
  for (const [name, version, parent] of missing) {
    const { cpu, os, libc } = platformOf(name);
    if (cpu.length === 0 || !/^\d/.test(version)) {
      throw new Error(`cannot tell what ${name}@${version} is for: add it by hand`);
    }
    lock.packages[`node_modules/${name}`] = {
      version,
      cpu,
      ...(parent.dev === true ? { dev: true } : {}),
      ...(libc.length > 0 ? { libc } : {}),
      optional: true,
      ...(os.length > 0 ? { os } : {}),
    };
  }
  const [root, ...rest] = Object.entries(lock.packages);
  lock.packages = Object.fromEntries([root, ...rest.sort(([a], [b]) => (a < b ? -1 : 1))]);
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  return missing.length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const added = completeLock(join(import.meta.dirname, "..", "package-lock.json"));
  process.stdout.write(`complete-lock: ${added} added\n`);
}
