/**
 * Installs what is missing, so that `npm start` and `npm test` work in a fresh clone on any Node ≥
 * 20. Plain JavaScript without dependencies: it runs before there are any, on whatever Node is
 * there.
 *
 * `npm ci` runs when node_modules is absent or was made from another lock file. A stamp with the
 * lock file's hash tells; without one (someone ran npm by hand) the files' times do.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const lockFile = join(root, "package-lock.json");
const installed = join(root, "node_modules", ".package-lock.json");
const stampFile = join(root, "node_modules", ".capstan-lock-hash");
const nodePackage = join(root, "node_modules", "node");

const nodeMajor = Number(process.versions.node.split(".")[0]);
if (nodeMajor < 20)
  fail(`Capstan needs Node 20 or newer to install itself; this is ${process.version}.`);

const lockHash = createHash("sha256").update(readFileSync(lockFile)).digest("hex");
if (!isCurrent()) install();
if (!existsSync(join(nodePackage, "bin", "node"))) fetchRuntime();
if (!existsSync(stampFile) || readFileSync(stampFile, "utf8") !== lockHash) {
  writeFileSync(stampFile, lockHash);
}

function isCurrent() {
  if (!existsSync(installed)) return false;
  if (existsSync(stampFile)) return readFileSync(stampFile, "utf8") === lockHash;
  return statSync(installed).mtimeMs >= statSync(lockFile).mtimeMs;
}

function install() {
  process.stderr.write("Installing dependencies (npm ci), once…\n");
  run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], root);
}

/**
 * Some npm versions skip install scripts; the `node` package needs its own to bring the runtime.
 */
function fetchRuntime() {
  run(process.execPath, ["installArchSpecificPackage.js"], nodePackage);
}

function run(command, args, cwd) {
  const onWindows = process.platform === "win32";
  const done = spawnSync(command, args, { cwd, stdio: ["ignore", 2, 2], shell: onWindows });
  if (done.status !== 0) fail(`\`${command} ${args.join(" ")}\` failed: see the lines above.`);
}

function fail(message) {
  process.stderr.write(`capstan: ${message}\n`);
  process.exit(1);
}
