import { existsSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * The URL of a module next to the caller's, for `new Worker(...)` and `fork(...)`: `.ts` in a
 * clone, `.js` in the published package, because the compiler rewrites import statements but not
 * strings. Where CAPSTAN_PROGRAM names the program that was built of these sources, as in
 * `npm test`, a thread of the sources is the one of that program: it starts with a third of the
 * CPU time.
 */
export function siblingModule(importMetaUrl: string, pathWithoutExtension: string): URL {
  if (!importMetaUrl.endsWith(".ts")) return new URL(`${pathWithoutExtension}.js`, importMetaUrl);
  return (
    builtModule(basename(pathWithoutExtension)) ??
    new URL(`${pathWithoutExtension}.ts`, importMetaUrl)
  );
}

function builtModule(name: string): URL | undefined {
  const program = process.env.CAPSTAN_PROGRAM;
  if (program === undefined || !program.endsWith(".mjs")) return undefined;
  const module = new URL(`./${name}.mjs`, pathToFileURL(program));
  return existsSync(module) ? module : undefined;
}
