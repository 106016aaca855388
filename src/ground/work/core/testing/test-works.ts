import type { LeafId, QueryId, WorkId } from "../../../kernel/ids.ts";
import type { Artifact, WorkSpec } from "../assignment/index.ts";

export function testWork(queryId: string, workId = "0", body = "{}"): WorkSpec {
  return {
    queryId: queryId as QueryId,
    leafId: "0" as LeafId,
    workId: workId as WorkId,
    kind: "test",
    body,
    affinityKey: `${queryId}/${workId}`,
  };
}

export function testArtifact(workId: string, url = `http://worker/artifacts/${workId}`): Artifact {
  return {
    workId: workId as WorkId,
    url,
    sizeBytes: 10,
    checksum: `sha256:${"0".repeat(64)}`,
    rowCount: 3,
    minTs: undefined,
    maxTs: undefined,
    schemaVersion: 1,
  };
}
