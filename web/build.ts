/**
 * Builds the dashboard when it is missing or its sources have changed: `node web/build.ts
 * [--force]`.
 * A served directory is replaced by a rename, never written file by file. Vite is loaded only to
 * build: without changes the check costs a few stat calls.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

const root = import.meta.dirname;
const dist = join(root, "dist");
const stampFile = join(dist, ".stamp");
const inputs = ["index.html", "vite.config.ts", "public", "src", "../package-lock.json"];

export interface DashboardBuild {
  /** The directory that the coordinator serves. */
  readonly directory: string;
  /** False when a build of the same sources was there already. */
  readonly built: boolean;
  readonly durationMs: number;
}

export async function ensureDashboard(
  options: { readonly force?: boolean } = {},
): Promise<DashboardBuild> {
  const startedMs = performance.now();
  const stamp = await stampOfInputs();
  const fresh = options.force !== true && (await storedStamp()) === stamp;
  if (!fresh) await buildInto(stamp);
  return { directory: dist, built: !fresh, durationMs: performance.now() - startedMs };
}

async function buildInto(stamp: string): Promise<void> {
  const scratch = join(root, "../node_modules/.cache/capstan", `dashboard-${process.pid}`);
  const staged = join(scratch, "new");
  await mkdir(scratch, { recursive: true });
  try {
    const { build } = await import("vite");
    await build({
      configFile: join(root, "vite.config.ts"),
      logLevel: "warn",
      build: { outDir: staged },
    });
    await writeFile(join(staged, ".stamp"), stamp);
    await rename(dist, join(scratch, "old")).catch(unlessAbsent);
    // A second builder may have put its own there in between, made from the same sources.
    await rename(staged, dist).catch(async (error: unknown) => {
      if ((await storedStamp()) !== stamp) throw error;
    });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Paths, sizes and times of all inputs; contents need not be read. */
async function stampOfInputs(): Promise<string> {
  const hash = createHash("sha256");
  for (const input of inputs) await addToStamp(input, hash);
  return hash.digest("hex");
}

async function addToStamp(path: string, hash: { update(text: string): unknown }): Promise<void> {
  const found = await stat(join(root, path));
  if (!found.isDirectory()) {
    hash.update(`${path} ${found.size} ${found.mtimeMs}\n`);
    return;
  }
  for (const name of (await readdir(join(root, path))).sort()) {
    if (!name.endsWith(".test.ts")) await addToStamp(`${path}/${name}`, hash);
  }
}

async function storedStamp(): Promise<string | undefined> {
  return await readFile(stampFile, "utf8").catch(() => undefined);
}

function unlessAbsent(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

if (import.meta.main) {
  const { built, durationMs } = await ensureDashboard({ force: process.argv.includes("--force") });
  const outcome = built ? `built in ${(durationMs / 1000).toFixed(1)} s` : "up to date";
  process.stdout.write(`dashboard: ${outcome}\n`);
}
