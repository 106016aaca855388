/**
 * The schema's migrations: `sql/schema/NNN-name.sql`, numbered from 001 without gaps. The highest
 * number is the version that this software needs. A landed file never changes (ST56).
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { assert, OperatingError } from "../../kernel/errors.ts";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
}

const fileName = /^(\d{3})-([a-z0-9-]+)\.sql$/;

/** In order, from version 1 on. */
export function readMigrations(schemaDir: string = packagedSchemaDir()): readonly Migration[] {
  const migrations = readdirSync(schemaDir)
    .sort()
    .flatMap((file) => {
      const match = fileName.exec(file);
      if (match === null) return [];
      const text = readFileSync(join(schemaDir, file), "utf8");
      return [{ version: Number(match[1]), name: file, text }];
    });
  assert(migrations.length > 0, `there are migrations in ${schemaDir}`);
  migrations.forEach(({ version, name }, index) => {
    assert(version === index + 1, `${name} is migration ${index + 1}`);
  });
  return migrations;
}

export function newestVersion(migrations: readonly Migration[]): number {
  return migrations.length;
}

/** Undefined when the version is the one that this software needs. */
export function decideSchemaRefusal(
  found: number,
  needed: number,
  place: string,
): OperatingError | undefined {
  if (found === needed) return undefined;
  if (found === 0) {
    return new OperatingError("schema_absent", "never", `there is no Capstan store at ${place}`, {
      hint: "run `capstan setup`",
    });
  }
  if (found < needed) {
    return new OperatingError(
      "schema_older",
      "never",
      `the store at ${place} has schema version ${found}, this version of Capstan needs ${needed}`,
      {
        hint: "stop the coordinators and run `capstan setup`: it migrates forward and keeps the data",
      },
    );
  }
  return new OperatingError(
    "schema_newer",
    "never",
    `the store at ${place} has schema version ${found}, this version of Capstan knows up to ${needed}`,
    { hint: "use the newer version of Capstan that set it up" },
  );
}

/** `<package root>/sql/schema`, whether this file runs from `src/` or from `dist/`. */
function packagedSchemaDir(): string {
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, "package.json"))) {
    const parent = dirname(directory);
    assert(parent !== directory, "the package has a package.json");
    directory = parent;
  }
  return join(directory, "sql", "schema");
}
