/**
 * Which files a load test may open: databases in a folder of their own under the data directory,
 * and those that an operator named with `--allow-target-file`. Whoever starts a run acts as
 * Capstan's user otherwise, on every file of that user. Rules: FT1 to FT5.
 */
import "../core/error-codes.ts";
import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { messageOf, OperatingError } from "../../../ground/kernel/errors.ts";
import { makeInnerDirectory } from "../../../ground/kernel/node/make-inner-directory.ts";

export interface TargetFiles {
  /** Where a file of this name is. */
  pathOf(name: string): string;
  /**
   * The real path of a database that may be opened; it need not exist. Throws `forbidden`,
   * `target_refused`.
   */
  resolve(path: string): string;
  /** Throws `forbidden` for a Unix socket that may not be connected to (FT5). */
  checkSocket(path: string): void;
}

export interface TargetFilesConfig {
  readonly dataDir: string;
  /** As an operator gave them. */
  readonly allowed?: readonly string[];
}

const folder = "targets";
/** Where packages of Postgres and MySQL put their sockets. */
const usualSockets =
  /^(\/var)?\/run\/postgresql\/\.s\.PGSQL\.\d+$|^\/tmp\/\.s\.PGSQL\.\d+$|^(\/var)?\/run\/mysqld\/mysqld\.sock$|^\/var\/lib\/mysql\/mysql\.sock$|^\/tmp\/mysql\.sock$/;
const companions = [
  ...["-wal", "-shm", "-journal"],
  ...[".wal", ".wal.checkpoint", ".wal.recovery", ".tmp"],
];

/** Throws `bad_request` for an allowed file that cannot be one. */
export function createTargetFiles({ dataDir, allowed = [] }: TargetFilesConfig): TargetFiles {
  const home = realPath(dataDir);
  const own = join(home, folder);
  const given = allowed.map((path) => resolve(path));
  for (const path of given) {
    if (isWithin(home, realPath(path)) && !isWithin(own, realPath(path))) {
      const message = `--allow-target-file ${path}: what is in the data directory is Capstan's own`;
      throw new OperatingError("bad_request", "never", message, {
        hint: `A load test's databases are in ${own}.`,
      });
    }
  }
  return {
    pathOf: (name) => join(own, name),
    resolve: (path) => {
      const real = judgedPath(path);
      const isOwn = isWithin(own, real) && real !== own;
      const isGiven = !isWithin(home, real) && given.some((each) => realPath(each) === real);
      if (!isOwn && !isGiven) throw notAllowed(path);
      if (isOwn) makeOwn(own);
      for (const suffix of ["", ...companions]) checkFile(path, `${real}${suffix}`, suffix);
      return real;
    },
    checkSocket: (path) => {
      if (usualSockets.test(path)) return;
      const real = judgedPath(path);
      const isGiven = (at: string): boolean => given.some((each) => realPath(each) === at);
      const isAllowed = isWithin(home, real)
        ? isWithin(own, real) && real !== own
        : isGiven(real) || isGiven(dirname(real));
      if (!isAllowed) throw notAllowed(path);
    },
  };
}

/** FT4: what cannot be followed is refused like what is not allowed. */
function judgedPath(path: string): string {
  try {
    return realPath(path);
  } catch {
    throw notAllowed(path);
  }
}

/** FT2 */
function checkFile(path: string, real: string, suffix: string): void {
  const found = lstatSync(real, { throwIfNoEntry: false });
  if (found === undefined) return;
  const isPlain = found.isFile() && found.nlink === 1;
  if (isPlain || (suffix === ".tmp" && found.isDirectory())) return;
  const message = `${path}${suffix} is a link or not a file`;
  throw new OperatingError("forbidden", "never", message);
}

function notAllowed(path: string): OperatingError {
  const message = `${path} may not be opened by a load test`;
  return new OperatingError("forbidden", "never", message, {
    hint: `Use sqlite:NAME or duckdb:NAME, a file in targets/ of the data directory, or have the coordinator started with --allow-target-file ${path}.`,
  });
}

/** With every link followed, as far as there is something; `..` of the rest is taken out. */
function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch (thrown) {
    const { code } = thrown as { readonly code?: unknown };
    const above = dirname(whole);
    if (code !== "ENOENT" || above === whole) throw unresolved(path, thrown);
    const link = lstatSync(whole, { throwIfNoEntry: false });
    // A link that leads nowhere yet could lead anywhere.
    if (link !== undefined) throw unresolved(path, thrown);
    return join(realPath(above), basename(whole));
  }
}

function unresolved(path: string, thrown: unknown): OperatingError {
  return new OperatingError("forbidden", "never", `${path} may not be opened by a load test`, {
    cause: messageOf(thrown),
  });
}

function isWithin(dir: string, path: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(sep) ? dir : dir + sep);
}

function makeOwn(own: string): void {
  try {
    makeInnerDirectory(own);
  } catch (thrown) {
    const { code } = thrown as { readonly code?: unknown };
    const message = `cannot make targets/ of the data directory: ${String(code ?? "failed")}`;
    throw new OperatingError("target_refused", "never", message, { cause: thrown });
  }
}
