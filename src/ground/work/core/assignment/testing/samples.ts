/** Small values for tests of this room. */
import type { Incarnation, LeafId, QueryId, WorkerId, WorkId } from "../../../../kernel/ids.ts";
import type { Artifact, WorkCommand, WorkKey, WorkSpec } from "../messages.ts";

export const workerId = (text: string): WorkerId => text as WorkerId;
export const incarnation = (text: string): Incarnation => text as Incarnation;
export const queryId = (text: string): QueryId => text as QueryId;

export function sampleSpec(query: string, work: string, affinityKey = work): WorkSpec {
  return {
    queryId: queryId(query),
    leafId: "leaf" as LeafId,
    workId: work as WorkId,
    kind: "sample",
    body: `body of ${work}`,
    affinityKey,
  };
}

export function sampleArtifact(key: WorkKey, url = "http://a/artifacts/1"): Artifact {
  return {
    workId: key.workId,
    url,
    sizeBytes: 100,
    checksum: `sha256:${"0".repeat(64)}`,
    rowCount: 1,
    minTs: undefined,
    maxTs: undefined,
    schemaVersion: 1,
  };
}

/** Shows a command as `assign#1`, so that tables of expectations stay readable. */
export function commandText(command: WorkCommand): string {
  const name = { assignWork: "assign", cancelWork: "cancel", ackArtifact: "ack" }[command.kind];
  return `${name}#${command.attempt}`;
}
