/**
 * Work's commands and reports to and from the frames of its channel (proto/work.proto). Decoding trusts
 * nothing: what is unknown, malformed or out of bounds is an `OperatingError` with `protocol_violation`,
 * whose message says which field.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { messageOf } from "../../kernel/errors.ts";
import { parseLeafId, parseQueryId, parseWorkId } from "../../kernel/ids.ts";
import {
  httpUrl,
  parsed,
  present,
  safeInteger,
  text,
  violation,
  word,
} from "../../kernel/wire-values.ts";
import {
  type Artifact,
  answerBytesMax,
  type RejectReason,
  type WorkCommand,
  type WorkKey,
  type WorkReport,
} from "../core/assignment/index.ts";
import * as wire from "./gen/work_pb.ts";

const rejectReasons: Readonly<Record<RejectReason, wire.RejectReason>> = {
  draining: wire.RejectReason.DRAINING,
  not_accepting: wire.RejectReason.NOT_ACCEPTING,
  queue_full: wire.RejectReason.QUEUE_FULL,
};

const messageLengthMax = 65_536;
const checksumPattern = /^sha256:[0-9a-f]{64}$/;

export function encodeCommand(command: WorkCommand): Uint8Array {
  return toBinary(
    wire.WorkCommandSchema,
    create(wire.WorkCommandSchema, { command: commandCase(command) }),
  );
}

type CommandCase = NonNullable<MessageInitShape<typeof wire.WorkCommandSchema>["command"]>;

function commandCase(command: WorkCommand): CommandCase {
  switch (command.kind) {
    case "assignWork": {
      const { kind, body, affinityKey } = command.work;
      const { attempt } = command;
      return {
        case: "assignWork",
        value: { key: keyInit(command.work), attempt, kind, body, affinityKey },
      };
    }
    case "cancelWork":
      return { case: "cancelWork", value: { key: keyInit(command.key), attempt: command.attempt } };
    case "ackArtifact":
      return {
        case: "ackArtifact",
        value: { key: keyInit(command.key), attempt: command.attempt },
      };
  }
}

export function encodeReport(report: WorkReport): Uint8Array {
  return toBinary(
    wire.WorkReportSchema,
    create(wire.WorkReportSchema, { report: reportCase(report) }),
  );
}

type ReportCase = NonNullable<MessageInitShape<typeof wire.WorkReportSchema>["report"]>;

function reportCase(report: WorkReport): ReportCase {
  switch (report.kind) {
    case "workAccepted":
      return { case: "workAccepted", value: { key: keyInit(report.key), attempt: report.attempt } };
    case "workRejected": {
      const { key, attempt, reason } = report;
      const value = { key: keyInit(key), attempt, reason: rejectReasons[reason] };
      return { case: "workRejected", value };
    }
    case "workReady": {
      const { key, attempt, artifact } = report;
      const value = { key: keyInit(key), attempt, artifact: artifactInit(artifact) };
      return { case: "workReady", value };
    }
    case "workAnswered": {
      const { key, attempt, answer } = report;
      return { case: "workAnswered", value: { key: keyInit(key), attempt, answer } };
    }
    case "workFailed": {
      const { key, attempt, code, retryable } = report;
      // Error messages may quote a whole query; a session does not end for that.
      const message = report.message.slice(0, messageLengthMax);
      return {
        case: "workFailed",
        value: { key: keyInit(key), attempt, code, message, retryable },
      };
    }
  }
}

function keyInit({
  queryId,
  leafId,
  workId,
}: WorkKey): MessageInitShape<typeof wire.WorkKeySchema> {
  return { queryId, leafId, workId };
}

function artifactInit(artifact: Artifact): MessageInitShape<typeof wire.ArtifactSchema> {
  const { workId, url, sizeBytes, checksum, rowCount, minTs, maxTs, schemaVersion } = artifact;
  return {
    workId,
    artifactUrl: url,
    artifactSizeBytes: BigInt(sizeBytes),
    artifactChecksum: checksum,
    rowCount: BigInt(rowCount),
    ...(minTs === undefined ? {} : { minTs: BigInt(minTs) }),
    ...(maxTs === undefined ? {} : { maxTs: BigInt(maxTs) }),
    parquetSchemaVersion: schemaVersion,
  };
}

export function decodeCommand(payload: Uint8Array): WorkCommand {
  const { command } = read(wire.WorkCommandSchema, payload);
  switch (command.case) {
    case "assignWork": {
      const { key, attempt, kind, body, affinityKey } = command.value;
      const work = {
        ...keyOf(key),
        kind: text("kind", kind, 64),
        body, // Bounded by the size of a frame.
        affinityKey: text("affinity_key", affinityKey, 1_024),
      };
      return { kind: "assignWork", work, attempt };
    }
    case "cancelWork":
      return { kind: "cancelWork", key: keyOf(command.value.key), attempt: command.value.attempt };
    case "ackArtifact":
      return { kind: "ackArtifact", key: keyOf(command.value.key), attempt: command.value.attempt };
    case undefined:
      throw violation("a command of an unknown kind");
  }
}

export function decodeReport(payload: Uint8Array): WorkReport {
  const { report } = read(wire.WorkReportSchema, payload);
  switch (report.case) {
    case "workAccepted":
      return { kind: "workAccepted", key: keyOf(report.value.key), attempt: report.value.attempt };
    case "workRejected": {
      const { key, attempt, reason } = report.value;
      return {
        kind: "workRejected",
        key: keyOf(key),
        attempt,
        reason: word("reason", reason, rejectReasons),
      };
    }
    case "workReady":
      return readyReport(report.value);
    case "workAnswered": {
      const { key, attempt, answer } = report.value;
      if (answer.length > answerBytesMax)
        throw violation(`answer has more than ${answerBytesMax} bytes`);
      return { kind: "workAnswered", key: keyOf(key), attempt, answer };
    }
    case "workFailed": {
      const { key, attempt, code, message, retryable } = report.value;
      return {
        kind: "workFailed",
        key: keyOf(key),
        attempt,
        code: text("code", code, 64),
        message: text("message", message, messageLengthMax),
        retryable,
      };
    }
    case undefined:
      throw violation("a report of an unknown kind");
  }
}

function read<Desc extends DescMessage>(schema: Desc, payload: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, payload);
  } catch (thrown) {
    throw violation(`the payload is no ${schema.name}: ${messageOf(thrown)}`);
  }
}

function readyReport({ key, attempt, artifact }: wire.WorkReady): WorkReport {
  const ofKey = keyOf(key);
  const offered = artifactOf(present("artifact", artifact));
  if (offered.workId !== ofKey.workId) throw violation("an artifact of another work item");
  return { kind: "workReady", key: ofKey, attempt, artifact: offered };
}

function keyOf(key: wire.WorkKey | undefined): WorkKey {
  const { queryId, leafId, workId } = present("key", key);
  return {
    queryId: parsed("query_id", queryId, parseQueryId),
    leafId: parsed("leaf_id", leafId, parseLeafId),
    workId: parsed("work_id", workId, parseWorkId),
  };
}

function artifactOf(artifact: wire.Artifact): Artifact {
  const { minTs, maxTs } = artifact;
  if (!checksumPattern.test(artifact.artifactChecksum))
    throw violation("artifact_checksum is not a sha256");
  return {
    workId: parsed("work_id", artifact.workId, parseWorkId),
    url: httpUrl("artifact_url", artifact.artifactUrl),
    sizeBytes: safeInteger("artifact_size_bytes", artifact.artifactSizeBytes),
    checksum: artifact.artifactChecksum,
    rowCount: safeInteger("row_count", artifact.rowCount),
    minTs: minTs === undefined ? undefined : safeInteger("min_ts", minTs),
    maxTs: maxTs === undefined ? undefined : safeInteger("max_ts", maxTs),
    schemaVersion: artifact.parquetSchemaVersion,
  };
}
