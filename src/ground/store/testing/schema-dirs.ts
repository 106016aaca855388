/** Schema directories of other versions, for tests of migrations and races. */
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const packaged = join(import.meta.dirname, "..", "..", "..", "..", "sql", "schema");

export const todaysVersion: number = readdirSync(packaged).length;

/** The schema up to a version. */
export function makeOlderSchemaDir(version: number): string {
  const directory = makeSchemaDir();
  for (const name of readdirSync(directory)) {
    if (Number(name.slice(0, 3)) > version) rmSync(join(directory, name));
  }
  return directory;
}

/** Today's schema, with the given texts as later versions. */
export function makeSchemaDir(...texts: readonly string[]): string {
  const directory = mkdtempSync(join(tmpdir(), "capstan-schema-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  cpSync(packaged, directory, { recursive: true });
  texts.forEach((text, index) => {
    const version = `${todaysVersion + 1 + index}`.padStart(3, "0");
    writeFileSync(join(directory, `${version}-test.sql`), text);
  });
  return directory;
}
