/** Executes work of kind `sql`. Its body is `{"sql": …}`. */
import { OperatingError } from "../../ground/kernel/errors.ts";
import type { Executor } from "../../ground/work/core/index.ts";
import { type WorkSpec, workLogFields } from "../../ground/work/core/index.ts";
import type { EngineFor } from "./engine.ts";

export const sqlWorkKind = "sql";

export function sqlWorkBody(sql: string): string {
  return JSON.stringify({ sql });
}

export function createSqlExecutor(engine: EngineFor<"executeToParquet">): Executor {
  return {
    async execute(work, path, signal, bytesMax) {
      const own = engine.with(workLogFields(work));
      return await own.executeToParquet(parseBody(work), path, signal, bytesMax);
    },
  };
}

function parseBody(work: WorkSpec): string {
  if (work.kind !== sqlWorkKind) {
    const message = `this worker cannot execute work of kind ${work.kind}`;
    throw new OperatingError("bad_request", "never", message);
  }
  try {
    const body: unknown = JSON.parse(work.body);
    if (typeof body === "object" && body !== null && "sql" in body) {
      if (typeof body.sql === "string") return body.sql;
    }
  } catch {
    // Reported below.
  }
  throw new OperatingError("bad_request", "never", "the work's body is not understood");
}
