/**
 * Converts frames to and from the messages of proto/control.proto. An unknown, malformed or
 * out-of-range value throws `protocol_violation` with the field's name.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  parseControllerId,
  parseIncarnation,
  parseLeaseEpoch,
  parseSessionEpoch,
  parseWorkerId,
} from "../../kernel/ids.ts";
import {
  httpUrl,
  parsed,
  present,
  safeInteger,
  text,
  violation,
  word,
} from "../../kernel/wire-values.ts";
import { factKeyPattern, factsMax, factValueLengthMax } from "../core/facts.ts";
import type {
  Admission,
  ChannelFrame,
  ControllerFrame,
  ControllerRole,
  Envelope,
  Facts,
  FactsDelta,
  GoodbyeReason,
  RefusalReason,
  WorkerFrame,
} from "../core/frames.ts";
import type { ChannelOffer, Channels } from "../core/versions.ts";
import * as wire from "./gen/control_pb.ts";

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
const messageLengthMax = 65_536;
/** No peer has more channels than this. */
const channelsMax = 64;
const channelNameLengthMax = 64;

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
      const { controllerId, role, leaseEpoch, versions, channels, workerId } = frame;
      return {
        case: "hello",
        value: {
          controllerId,
          role: roles[role],
          leaseEpoch: BigInt(leaseEpoch),
          protocolVersion: versions.newest,
          protocolVersionOldest: versions.oldest,
          channels: [...channels],
          ...(workerId === undefined ? {} : { workerId }),
        },
      };
    }
    case "heartbeat": {
      const ackedFactsVersion = BigInt(frame.ackedFactsVersion);
      return { case: "heartbeat", value: { sequence: BigInt(frame.sequence), ackedFactsVersion } };
    }
    case "setDraining":
      return { case: "setDraining", value: { draining: frame.draining } };
    case "goodbye":
      return { case: "goodbye", value: { reason: goodbyeReasons[frame.reason] } };
    case "channel":
      return { case: "channelFrame", value: { channel: frame.channel, payload: frame.payload } };
  }
}

export function encodeWorkerEnvelope({ epoch, frame }: Envelope<WorkerFrame>): wire.WorkerEnvelope {
  return create(wire.WorkerEnvelopeSchema, { epoch: BigInt(epoch), frame: workerCase(frame) });
}

type WorkerCase = NonNullable<MessageInitShape<typeof wire.WorkerEnvelopeSchema>["frame"]>;

function workerCase(frame: WorkerFrame): WorkerCase {
  switch (frame.kind) {
    case "welcome": {
      const { kind: _kind, version, channels, factsVersion, facts, ...rest } = frame;
      return {
        case: "welcome",
        value: {
          ...rest,
          protocolVersion: version,
          channels: Array.from(channels, ([name, version]) => ({ name, version })),
          facts: { ...facts },
          factsVersion: BigInt(factsVersion),
        },
      };
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
    case "channel":
      return { case: "channelFrame", value: { channel: frame.channel, payload: frame.payload } };
  }
}

/** Error messages may quote a whole query, which must not end the session. */
function clipped(message: string): string {
  return message.length > messageLengthMax ? message.slice(0, messageLengthMax) : message;
}

function deltaInit(delta: FactsDelta): MessageInitShape<typeof wire.FactsDeltaSchema> {
  return { version: BigInt(delta.version), set: { ...delta.set }, unset: [...delta.unset] };
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
    case "channelFrame":
      return channelFrame(frame.value);
    case undefined:
      throw violation("a frame of an unknown kind");
  }
}

function helloFrame(hello: wire.Hello): Extract<ControllerFrame, { kind: "hello" }> {
  const { workerId, protocolVersion: newest, protocolVersionOldest } = hello;
  const oldest = protocolVersionOldest === 0 ? newest : protocolVersionOldest;
  return {
    kind: "hello",
    controllerId: parsed("controller_id", hello.controllerId, parseControllerId),
    role: word("role", hello.role, roles),
    leaseEpoch: parsed(
      "lease_epoch",
      safeInteger("lease_epoch", hello.leaseEpoch),
      parseLeaseEpoch,
    ),
    versions: { oldest, newest },
    channels: bounded(hello.channels).map(offerOf),
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
    case "channelFrame":
      return channelFrame(frame.value);
    case undefined:
      throw violation("a frame of an unknown kind");
  }
}

function welcomeFrame(welcome: wire.Welcome): WorkerFrame {
  return {
    kind: "welcome",
    workerId: parsed("worker_id", welcome.workerId, parseWorkerId),
    incarnation: parsed("incarnation", welcome.incarnation, parseIncarnation),
    version: welcome.protocolVersion,
    channels: channelsOf(welcome.channels),
    admission: admissionOf(welcome.admission),
    facts: factsOf(welcome.facts),
    factsVersion: safeInteger("facts_version", welcome.factsVersion),
    dataUrl: httpUrl("data_url", welcome.dataUrl),
    capacity: welcome.capacity,
    softwareVersion: text("software_version", welcome.softwareVersion, 64),
  };
}

function channelFrame({ channel, payload }: wire.ChannelFrame): ChannelFrame {
  return { kind: "channel", channel: channelName(channel), payload };
}

function offerOf({ name, oldest, newest }: wire.ChannelOffer): ChannelOffer {
  return { name: channelName(name), oldest, newest };
}

function channelsOf(choices: readonly wire.ChannelChoice[]): Channels {
  return new Map(bounded(choices).map(({ name, version }) => [channelName(name), version]));
}

function channelName(name: string): string {
  return text("the name of a channel", name, channelNameLengthMax);
}

function bounded<T>(channels: readonly T[]): readonly T[] {
  if (channels.length > channelsMax) throw violation(`more than ${channelsMax} channels`);
  return channels;
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
