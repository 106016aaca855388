/**
 * Frames to and from the messages of proto/control.proto. Decoding trusts nothing: what is unknown, malformed or out
 * of bounds is an `OperatingError` with `protocol_violation`, whose message says which field.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  parseControllerId,
  parseIncarnation,
  parseLeafId,
  parseLeaseEpoch,
  parseQueryId,
  parseSessionEpoch,
  parseWorkerId,
  parseWorkId,
} from "../../kernel/ids.ts";
import type { Artifact, RejectReason, WorkKey } from "../../work/index.ts";
import { factKeyPattern, factsMax, factValueLengthMax } from "../core/facts.ts";
import type {
  Admission,
  ControllerFrame,
  ControllerRole,
  Envelope,
  Facts,
  FactsDelta,
  GoodbyeReason,
  RefusalReason,
  WorkerFrame,
} from "../core/frames.ts";
import * as wire from "./gen/control_pb.ts";
import { httpUrl, parsed, present, safeInteger, text, violation, word } from "./validate.ts";

const roles: Readonly<Record<ControllerRole, wire.ControllerRole>> = {
  coordinator: wire.ControllerRole.COORDINATOR,
  query_api: wire.ControllerRole.QUERY_API,
};
const goodbyeReasons: Readonly<Record<GoodbyeReason, wire.GoodbyeReason>> = {
  shutting_down: wire.GoodbyeReason.SHUTTING_DOWN,
  superseded: wire.GoodbyeReason.SUPERSEDED,
  dropped: wire.GoodbyeReason.DROPPED,
};
const refusalReasons: Readonly<Record<RefusalReason, wire.RefusalReason>> = {
  bad_frame: wire.RefusalReason.BAD_FRAME,
  overloaded: wire.RefusalReason.OVERLOADED,
  protocol_version: wire.RefusalReason.PROTOCOL_VERSION,
  shutting_down: wire.RefusalReason.SHUTTING_DOWN,
  stale_lease: wire.RefusalReason.STALE_LEASE,
  stale_session: wire.RefusalReason.STALE_SESSION,
  wrong_worker: wire.RefusalReason.WRONG_WORKER,
};
const rejectReasons: Readonly<Record<RejectReason, wire.RejectReason>> = {
  draining: wire.RejectReason.DRAINING,
  not_accepting: wire.RejectReason.NOT_ACCEPTING,
  queue_full: wire.RejectReason.QUEUE_FULL,
};

const messageLengthMax = 65_536;
const checksumPattern = /^sha256:[0-9a-f]{64}$/;

export function encodeControllerEnvelope({
  epoch,
  frame,
}: Envelope<ControllerFrame>): wire.ControllerEnvelope {
  return create(wire.ControllerEnvelopeSchema, {
    epoch: BigInt(epoch),
    frame: controllerCase(frame),
  });
}

type ControllerCase = NonNullable<MessageInitShape<typeof wire.ControllerEnvelopeSchema>["frame"]>;

function controllerCase(frame: ControllerFrame): ControllerCase {
  switch (frame.kind) {
    case "hello": {
      const { controllerId, role, leaseEpoch, protocolVersion, workerId } = frame;
      const named = workerId === undefined ? {} : { workerId };
      const value = { controllerId, role: roles[role], leaseEpoch: BigInt(leaseEpoch) };
      return { case: "hello", value: { ...value, protocolVersion, ...named } };
    }
    case "heartbeat": {
      const ackedFactsVersion = BigInt(frame.ackedFactsVersion);
      return { case: "heartbeat", value: { sequence: BigInt(frame.sequence), ackedFactsVersion } };
    }
    case "setDraining":
      return { case: "setDraining", value: { draining: frame.draining } };
    case "goodbye":
      return { case: "goodbye", value: { reason: goodbyeReasons[frame.reason] } };
    case "assignWork": {
      const { kind, body, affinityKey } = frame.work;
      const { attempt } = frame;
      return {
        case: "assignWork",
        value: { key: keyInit(frame.work), attempt, kind, body, affinityKey },
      };
    }
    case "cancelWork":
      return { case: "cancelWork", value: { key: keyInit(frame.key), attempt: frame.attempt } };
    case "ackArtifact":
      return { case: "ackArtifact", value: { key: keyInit(frame.key), attempt: frame.attempt } };
  }
}

export function encodeWorkerEnvelope({ epoch, frame }: Envelope<WorkerFrame>): wire.WorkerEnvelope {
  return create(wire.WorkerEnvelopeSchema, { epoch: BigInt(epoch), frame: workerCase(frame) });
}

type WorkerCase = NonNullable<MessageInitShape<typeof wire.WorkerEnvelopeSchema>["frame"]>;

function workerCase(frame: WorkerFrame): WorkerCase {
  switch (frame.kind) {
    case "welcome": {
      const { kind: _kind, factsVersion, facts, ...rest } = frame;
      const value = { ...rest, facts: { ...facts }, factsVersion: BigInt(factsVersion) };
      return { case: "welcome", value };
    }
    case "refused": {
      const message = clipped(frame.message);
      return { case: "refused", value: { reason: refusalReasons[frame.reason], message } };
    }
    case "heartbeatAnswer": {
      const delta = frame.delta === undefined ? {} : { delta: deltaInit(frame.delta) };
      return { case: "heartbeatAnswer", value: { sequence: BigInt(frame.sequence), ...delta } };
    }
    case "admission":
      return { case: "admissionChanged", value: { admission: frame.admission } };
    case "workAccepted":
      return { case: "workAccepted", value: { key: keyInit(frame.key), attempt: frame.attempt } };
    case "workRejected": {
      const { key, attempt, reason } = frame;
      const value = { key: keyInit(key), attempt, reason: rejectReasons[reason] };
      return { case: "workRejected", value };
    }
    case "workReady": {
      const { key, attempt, artifact } = frame;
      const value = { key: keyInit(key), attempt, artifact: artifactInit(artifact) };
      return { case: "workReady", value };
    }
    case "workFailed": {
      const { key, attempt, code, retryable } = frame;
      const message = clipped(frame.message);
      return {
        case: "workFailed",
        value: { key: keyInit(key), attempt, code, message, retryable },
      };
    }
  }
}

/** Error messages may quote a whole query; a session does not end for that. */
function clipped(message: string): string {
  return message.length > messageLengthMax ? message.slice(0, messageLengthMax) : message;
}

function keyInit({
  queryId,
  leafId,
  workId,
}: WorkKey): MessageInitShape<typeof wire.WorkKeySchema> {
  return { queryId, leafId, workId };
}

function deltaInit(delta: FactsDelta): MessageInitShape<typeof wire.FactsDeltaSchema> {
  return { version: BigInt(delta.version), set: { ...delta.set }, unset: [...delta.unset] };
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

export function decodeControllerEnvelope(
  message: wire.ControllerEnvelope,
): Envelope<ControllerFrame> {
  const epoch = parsed("epoch", safeInteger("epoch", message.epoch), parseSessionEpoch);
  return { epoch, frame: controllerFrame(message.frame) };
}

function controllerFrame(frame: wire.ControllerEnvelope["frame"]): ControllerFrame {
  switch (frame.case) {
    case "hello":
      return helloFrame(frame.value);
    case "heartbeat": {
      const { sequence, ackedFactsVersion } = frame.value;
      return {
        kind: "heartbeat",
        sequence: safeInteger("sequence", sequence),
        ackedFactsVersion: safeInteger("acked_facts_version", ackedFactsVersion),
      };
    }
    case "setDraining":
      return { kind: "setDraining", draining: frame.value.draining };
    case "goodbye":
      return { kind: "goodbye", reason: word("reason", frame.value.reason, goodbyeReasons) };
    case "assignWork": {
      const { key, attempt, kind, body, affinityKey } = frame.value;
      const work = {
        ...keyOf(key),
        kind: text("kind", kind, 64),
        body, // Bounded by the size of the frame.
        affinityKey: text("affinity_key", affinityKey, 1_024),
      };
      return { kind: "assignWork", work, attempt };
    }
    case "cancelWork":
      return { kind: "cancelWork", key: keyOf(frame.value.key), attempt: frame.value.attempt };
    case "ackArtifact":
      return { kind: "ackArtifact", key: keyOf(frame.value.key), attempt: frame.value.attempt };
    case undefined:
      throw violation("a frame of an unknown kind");
  }
}

function helloFrame(hello: wire.Hello): Extract<ControllerFrame, { kind: "hello" }> {
  const { workerId } = hello;
  return {
    kind: "hello",
    controllerId: parsed("controller_id", hello.controllerId, parseControllerId),
    role: word("role", hello.role, roles),
    leaseEpoch: parsed(
      "lease_epoch",
      safeInteger("lease_epoch", hello.leaseEpoch),
      parseLeaseEpoch,
    ),
    protocolVersion: hello.protocolVersion,
    ...(workerId === undefined ? {} : { workerId: parsed("worker_id", workerId, parseWorkerId) }),
  };
}

export function decodeWorkerEnvelope(message: wire.WorkerEnvelope): Envelope<WorkerFrame> {
  const epoch = parsed("epoch", safeInteger("epoch", message.epoch), parseSessionEpoch);
  return { epoch, frame: workerFrame(message.frame) };
}

function workerFrame(frame: wire.WorkerEnvelope["frame"]): WorkerFrame {
  switch (frame.case) {
    case "welcome":
      return welcomeFrame(frame.value);
    case "refused": {
      const reason = word("reason", frame.value.reason, refusalReasons);
      return {
        kind: "refused",
        reason,
        message: text("message", frame.value.message, messageLengthMax),
      };
    }
    case "heartbeatAnswer": {
      const { sequence, delta } = frame.value;
      return {
        kind: "heartbeatAnswer",
        sequence: safeInteger("sequence", sequence),
        delta: delta === undefined ? undefined : deltaOf(delta),
      };
    }
    case "admissionChanged":
      return { kind: "admission", admission: admissionOf(frame.value.admission) };
    case "workAccepted":
      return { kind: "workAccepted", key: keyOf(frame.value.key), attempt: frame.value.attempt };
    case "workRejected": {
      const { key, attempt, reason } = frame.value;
      return {
        kind: "workRejected",
        key: keyOf(key),
        attempt,
        reason: word("reason", reason, rejectReasons),
      };
    }
    case "workReady":
      return readyFrame(frame.value);
    case "workFailed": {
      const { key, attempt, code, message, retryable } = frame.value;
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
      throw violation("a frame of an unknown kind");
  }
}

function welcomeFrame(welcome: wire.Welcome): WorkerFrame {
  return {
    kind: "welcome",
    workerId: parsed("worker_id", welcome.workerId, parseWorkerId),
    incarnation: parsed("incarnation", welcome.incarnation, parseIncarnation),
    protocolVersion: welcome.protocolVersion,
    admission: admissionOf(welcome.admission),
    facts: factsOf(welcome.facts),
    factsVersion: safeInteger("facts_version", welcome.factsVersion),
    dataUrl: httpUrl("data_url", welcome.dataUrl),
    capacity: welcome.capacity,
    softwareVersion: text("software_version", welcome.softwareVersion, 64),
  };
}

function readyFrame({ key, attempt, artifact }: wire.WorkReady): WorkerFrame {
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

function admissionOf(admission: wire.Admission | undefined): Admission {
  const { accepting, draining } = present("admission", admission);
  return { accepting, draining };
}

function factsOf(facts: Readonly<Record<string, string>>): Facts {
  const entries = Object.entries(facts);
  if (entries.length > factsMax) throw violation(`more than ${factsMax} facts`);
  for (const [key, value] of entries) {
    factKey(key);
    text(`the fact ${key}`, value, factValueLengthMax);
  }
  return Object.fromEntries(entries);
}

function factKey(key: string): string {
  return parsed("the name of a fact", key, (raw) => (factKeyPattern.test(raw) ? raw : undefined));
}

function deltaOf({ version, set, unset }: wire.FactsDelta): FactsDelta {
  if (unset.length > factsMax) throw violation(`more than ${factsMax} facts`);
  return {
    version: safeInteger("version", version),
    set: factsOf(set),
    unset: unset.map(factKey),
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
