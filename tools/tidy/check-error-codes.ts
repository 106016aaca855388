/**
 * A process or a thread that loads a room also loads the room's error codes: a code that is not
 * declared there would arrive from another thread as `query_failed`, and answer with status 500.
 */
import { roomOf } from "./rooms.ts";
import { importsOf, isTest, type SourceFile } from "./sources.ts";

const table = /\/error-codes\.ts$/;

export function checkErrorCodes(files: readonly SourceFile[]): string[] {
  const sources = files.filter(({ path }) => path.startsWith("src/") && !isTest(path));
  const entries = new Set(sources.filter(isEntry).map(({ path }) => path));
  const imports = new Map(sources.map((file) => [file.path, valueImports(file)]));
  const tables = new Map(
    sources.flatMap(({ path }) => (table.test(path) ? [[folderOf(path), path] as const] : [])),
  );
  return [...entries].flatMap((path) => {
    const loaded = reachedFrom(path, imports, entries);
    const folders = new Set([...loaded].map(folderOf));
    return [...folders].flatMap((folder) => {
      const codes = tables.get(folder);
      if (codes === undefined || loaded.has(codes)) return [];
      return [`${path}:1: loads ${folder} without its error codes (${codes})`];
    });
  });
}

/** Whether a process or a thread begins with this module. */
function isEntry({ path, text }: SourceFile): boolean {
  return path.endsWith("/main.ts") || /^(await )?servePeer\b/m.test(text);
}

function folderOf(path: string): string {
  return roomOf(path)?.folder ?? "";
}

/** What is loaded with a module; the module of another thread or process is not. */
function reachedFrom(
  start: string,
  imports: ReadonlyMap<string, readonly string[]>,
  entries: ReadonlySet<string>,
): Set<string> {
  const seen = new Set([start]);
  for (const path of seen) {
    const targets = imports.get(path) ?? [];
    // Added to what this loop visits.
    for (const target of targets) if (!entries.has(target)) seen.add(target);
  }
  return seen;
}

/** Imports of types load nothing. */
function valueImports(file: SourceFile): string[] {
  const values = file.text.replace(/^\s*(import|export) type\b[^;]*;/gm, (statement) =>
    statement.replace(/[^\n]/g, " "),
  );
  return importsOf({ path: file.path, text: values }).map(({ target }) => target);
}
