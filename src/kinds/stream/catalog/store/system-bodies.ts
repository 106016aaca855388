/** The streams of the system as SHOW LOGICAL SOURCES has them: they have no rows (SC70). */
import { systemSource, systemStreams } from "../../language/core/index.ts";
import type { LogicalSourceBody } from "../core/bodies.ts";

/** All of them, or the one of this name. */
export function systemBodies(asked: string | undefined): readonly LogicalSourceBody[] {
  return systemStreams.flatMap((stream) => {
    const { name, schema, watermark } = systemSource(stream);
    if (asked !== undefined && asked.toLowerCase() !== name) return [];
    const body = { source_id: name, name, kind: "SYSTEM", schema, definition: null } as const;
    return [{ ...body, watermark: watermark ?? null, created_at_ms: 0 }];
  });
}
