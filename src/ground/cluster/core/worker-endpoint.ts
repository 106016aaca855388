/**
 * The worker's side of all its control sessions: greets, answers heartbeats, and carries the frames
 * of channels. It computes nothing, so that work never delays an answer. Rules: CL10 to CL14 and
 * CL23 to CL25.
 */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { OperatingError } from "../../kernel/errors.ts";
import type {
  ControllerId,
  Incarnation,
  LeaseEpoch,
  SessionEpoch,
  WorkerId,
} from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import { decideHello, decideSupersede, type Hello } from "./decide-hello.ts";
import { FactsTracker } from "./facts.ts";
import type {
  Admission,
  ChannelFrame,
  ControllerFrame,
  ControllerRole,
  Envelope,
  Facts,
  RefusalReason,
  WorkerFrame,
} from "./frames.ts";
import type { AcceptLink, Link } from "./link.ts";
import { assertTiming, defaultSessionTiming, type SessionTiming } from "./session-timing.ts";
import { type ChannelOffer, type Channels, commonChannels } from "./versions.ts";

/**
 * The worker's end of one channel. `session` is an opaque key: `WorkerEndpoint.send` under the same
 * key reaches only that session's controller.
 */
export interface WorkerChannel extends ChannelOffer {
  /** Throws `protocol_violation` for a malformed frame, which ends the session. */
  receive(session: string, payload: Uint8Array): void;
  /** The last call for a session that carried the channel. */
  sessionLost(session: string): void;
}

export interface WorkerEndpointOptions {
  readonly clock: Clock;
  readonly workerId: WorkerId;
  readonly incarnation: Incarnation;
  /** Read at every welcome, because the data port is known only once its server listens. */
  readonly dataUrl: () => string;
  readonly capacity: number;
  readonly softwareVersion: string;
  readonly channels: readonly WorkerChannel[];
  readonly logger: Logger;
  readonly timing?: SessionTiming;
  /** The limit of links, greeted or not. Default 64. */
  readonly sessionsMax?: number;
  /** Default: accepting, not draining. */
  readonly admission?: Admission;
  /** Called when the coordinator removed this worker from the cluster: the process should end. */
  readonly onDropped?: () => void;
  /** Called with the coordinator's wish, which the worker answers with `setAdmission`. */
  readonly onSetDraining?: (draining: boolean) => void;
}

export interface EndpointSession {
  /** The opaque key that a `WorkerChannel` sees. */
  readonly key: string;
  readonly controllerId: ControllerId;
  readonly role: ControllerRole;
  readonly epoch: SessionEpoch;
  readonly leaseEpoch: LeaseEpoch;
  readonly channels: Channels;
  readonly openedMs: number;
  readonly lastFrameMs: number;
}

/** A link and, once greeted, its session. */
interface Peer {
  readonly link: Link<Envelope<WorkerFrame>>;
  /** Whether the link has ended, on either side. */
  gone: boolean;
  open: OpenPeer | undefined;
  watchdog: Timer | undefined;
  silentSinceMs: number;
}

interface OpenPeer extends Omit<EndpointSession, "lastFrameMs"> {
  ackedFactsVersion: number;
}

/** How many controllers' newest epochs are remembered after their session ended. */
const rememberedControllersMax = 1_024;

export class WorkerEndpoint {
  readonly #options: WorkerEndpointOptions;
  readonly #timing: SessionTiming;
  readonly #sessionsMax: number;
  readonly #facts = new FactsTracker();
  readonly #peers = new Set<Peer>();
  readonly #open = new Map<string, Peer>();
  readonly #newestEpochs = new Map<ControllerId, SessionEpoch>();
  #newestLease = 0 as LeaseEpoch;
  #admission: Admission;
  #closing: boolean = false;

  constructor(options: WorkerEndpointOptions) {
    this.#options = options;
    this.#timing = options.timing ?? defaultSessionTiming;
    assertTiming(this.#timing);
    this.#sessionsMax = options.sessionsMax ?? 64;
    this.#admission = options.admission ?? { accepting: true, draining: false };
  }

  /** An arrow function, so that it can be passed to a server. */
  readonly accept: AcceptLink = (link) => {
    const { clock, logger } = this.#options;
    const peer: Peer = {
      link,
      gone: false,
      open: undefined,
      watchdog: undefined,
      silentSinceMs: clock.nowMs(),
    };
    if (this.#peers.size >= this.#sessionsMax) {
      logger.warn({ sessions_max: this.#sessionsMax }, "refused a control session: too many");
      peer.gone = true;
      link.close(`the worker has ${this.#sessionsMax} sessions already`);
    } else {
      this.#peers.add(peer);
      this.#watch(peer, this.#timing.greetingMs);
    }
    return {
      onFrame: (envelope) => this.#hear(peer, envelope),
      onClose: (reason) => this.#end(peer, reason),
    };
  };

  /** Sent to every session at once when it changed. */
  setAdmission(admission: Admission): void {
    const { accepting, draining } = admission;
    if (this.#admission.accepting === accepting && this.#admission.draining === draining) return;
    this.#admission = admission;
    for (const peer of this.#open.values()) this.#send(peer, { kind: "admission", admission });
  }

  setFact(key: string, value: string): void {
    this.#facts.set(key, value);
  }

  /** All of them, as they are now. */
  get facts(): Facts {
    return this.#facts.all();
  }

  /** Grows with every change of a fact. */
  get factsVersion(): number {
    return this.#facts.version;
  }

  unsetFact(key: string): void {
    this.#facts.unset(key);
    this.#forgetAckedFacts();
  }

  /**
   * Returns false when the session does not carry the channel or is gone; in the second case
   * `sessionLost` has been or is about to be called.
   */
  send(session: string, channel: string, payload: Uint8Array): boolean {
    const peer = this.#open.get(session); // CL14
    if (peer?.open?.channels.has(channel) !== true) return false; // CL39
    return this.#send(peer, { kind: "channel", channel, payload });
  }

  sessions(): readonly EndpointSession[] {
    return [...this.#open.values()].flatMap(({ open, silentSinceMs }) => {
      if (open === undefined) return [];
      const { ackedFactsVersion: _, ...session } = open;
      return [{ ...session, lastFrameMs: silentSinceMs }];
    });
  }

  /** Ends every session and refuses new ones. Final. */
  close(reason: string): void {
    this.#closing = true;
    for (const peer of [...this.#peers]) {
      if (peer.open !== undefined) this.#refuse(peer, peer.open.epoch, "shutting_down", reason);
      this.#end(peer, reason);
    }
  }

  #hear(peer: Peer, { epoch, frame }: Envelope<ControllerFrame>): void {
    if (peer.gone) return;
    const { open } = peer;
    if (open === undefined) {
      if (frame.kind === "hello") this.#greet(peer, epoch, frame);
      else this.#violation(peer, epoch, `a ${frame.kind} before the hello`); // CL10
      return;
    }
    if (epoch !== open.epoch) return; // CL13
    peer.silentSinceMs = this.#options.clock.nowMs();
    this.#obey(peer, open, frame);
  }

  #greet(peer: Peer, epoch: SessionEpoch, hello: Hello): void {
    const { controllerId, role, leaseEpoch } = hello;
    const { workerId, logger } = this.#options;
    const decision = decideHello(hello, epoch, {
      workerId,
      closing: this.#closing,
      newestLease: this.#newestLease,
      newestEpoch: this.#newestEpochs.get(controllerId),
    });
    if (decision.kind === "refuse") {
      const { reason, message } = decision;
      logger.warn({ controller_id: controllerId, epoch, reason }, "refused a controller");
      this.#refuse(peer, epoch, reason, message);
      this.#end(peer, message);
      return;
    }
    if (role === "coordinator") this.#newestLease = leaseEpoch; // Not older: it was let in.
    this.#supersede(hello);
    this.#rememberEpoch(controllerId, epoch);
    const key = `${controllerId}#${epoch}`;
    const openedMs = this.#options.clock.nowMs();
    const channels = commonChannels(this.#options.channels, hello.channels);
    const ackedFactsVersion = this.#facts.version;
    const session = { key, controllerId, role, epoch, leaseEpoch, channels, openedMs };
    peer.open = { ...session, ackedFactsVersion };
    peer.silentSinceMs = openedMs;
    this.#open.set(key, peer);
    this.#watch(peer, this.#timing.controllerSilenceMsMax);
    logger.info({ controller_id: controllerId, epoch, role }, "controller connected");
    this.#send(peer, this.#welcome(decision.version, channels));
  }

  #welcome(version: number, channels: Channels): WorkerFrame {
    const { workerId, incarnation, dataUrl, capacity, softwareVersion } = this.#options;
    return {
      kind: "welcome",
      workerId,
      incarnation,
      version,
      channels,
      admission: this.#admission,
      facts: this.#facts.all(),
      factsVersion: this.#facts.version,
      dataUrl: dataUrl(),
      capacity,
      softwareVersion,
    };
  }

  #supersede(hello: Hello): void {
    for (const peer of [...this.#open.values()]) {
      if (peer.open === undefined) continue;
      const reason = decideSupersede(peer.open, hello);
      if (reason === undefined) continue;
      this.#refuse(peer, peer.open.epoch, reason, "a newer session took over");
      this.#end(peer, "a newer session took over"); // CL11, CL12
    }
  }

  #obey(peer: Peer, open: OpenPeer, frame: ControllerFrame): void {
    const { onDropped, onSetDraining } = this.#options;
    switch (frame.kind) {
      case "hello":
        this.#violation(peer, open.epoch, "a second hello"); // CL10
        break;
      case "heartbeat":
        this.#answer(peer, open, frame.sequence, frame.ackedFactsVersion);
        break;
      case "setDraining":
        if (open.role === "coordinator") onSetDraining?.(frame.draining);
        else this.#violation(peer, open.epoch, "only a coordinator may drain a worker");
        break;
      case "goodbye":
        this.#end(peer, `the controller said goodbye: ${frame.reason}`);
        if (frame.reason === "dropped" && open.role === "coordinator") onDropped?.();
        break;
      case "channel":
        this.#hearChannel(peer, open, frame);
        break;
    }
  }

  #hearChannel(peer: Peer, open: OpenPeer, { channel, payload }: ChannelFrame): void {
    const own = this.#options.channels.find(({ name }) => name === channel);
    if (own === undefined || !open.channels.has(channel)) {
      this.#violation(peer, open.epoch, `a frame of the channel ${channel}, not agreed on`);
      return;
    }
    try {
      own.receive(open.key, payload);
    } catch (thrown) {
      // CL9: only an unreadable frame is the controller's fault.
      if (!(thrown instanceof OperatingError && thrown.code === "protocol_violation")) throw thrown;
      this.#violation(peer, open.epoch, thrown.message);
    }
  }

  #answer(peer: Peer, open: OpenPeer, sequence: number, acked: number): void {
    if (acked > this.#facts.version) {
      this.#violation(peer, open.epoch, "acknowledged facts that were never sent");
      return;
    }
    if (acked > open.ackedFactsVersion) {
      open.ackedFactsVersion = acked;
      this.#forgetAckedFacts();
    }
    const delta = this.#facts.since(open.ackedFactsVersion);
    this.#send(peer, { kind: "heartbeatAnswer", sequence, delta });
  }

  #forgetAckedFacts(): void {
    const acked = [...this.#open.values()].map((peer) => peer.open?.ackedFactsVersion ?? 0);
    this.#facts.forget(Math.min(this.#facts.version, ...acked));
  }

  #violation(peer: Peer, epoch: SessionEpoch, what: string): void {
    this.#options.logger.warn({ epoch, what }, "a controller violated the protocol");
    this.#refuse(peer, epoch, "bad_frame", what);
    this.#end(peer, `protocol violation: ${what}`);
  }

  #refuse(peer: Peer, epoch: SessionEpoch, reason: RefusalReason, message: string): void {
    if (!peer.gone) peer.link.send({ epoch, frame: { kind: "refused", reason, message } });
  }

  #send(peer: Peer, frame: WorkerFrame): boolean {
    return peer.open !== undefined && peer.link.send({ epoch: peer.open.epoch, frame });
  }

  /** Idempotent. */
  #end(peer: Peer, reason: string): void {
    if (peer.gone) return;
    peer.gone = true;
    peer.watchdog?.cancel();
    this.#peers.delete(peer);
    peer.link.close(reason);
    const { open } = peer;
    if (open === undefined) return;
    peer.open = undefined;
    this.#open.delete(open.key);
    this.#forgetAckedFacts();
    const { logger, channels } = this.#options;
    logger.info({ controller_id: open.controllerId, epoch: open.epoch, reason }, "session over");
    // CL12
    for (const each of channels) if (open.channels.has(each.name)) each.sessionLost(open.key);
  }

  /** Ends `peer` after `silenceMsMax` of silence. Replaces an earlier watch. */
  #watch(peer: Peer, silenceMsMax: number): void {
    const { clock } = this.#options;
    peer.watchdog?.cancel();
    const waitMs = peer.silentSinceMs + silenceMsMax - clock.nowMs();
    peer.watchdog = clock.after(Math.max(0, waitMs), () => {
      const silentMs = clock.nowMs() - peer.silentSinceMs;
      if (silentMs < silenceMsMax) this.#watch(peer, silenceMsMax);
      else this.#end(peer, `the controller was silent for ${Math.round(silentMs)} ms`); // CL13
    });
  }

  #rememberEpoch(controllerId: ControllerId, epoch: SessionEpoch): void {
    this.#newestEpochs.delete(controllerId); // Keeps the map ordered by last use.
    this.#newestEpochs.set(controllerId, epoch);
    if (this.#newestEpochs.size <= rememberedControllersMax) return;
    const connected = new Set([...this.#open.values()].map((peer) => peer.open?.controllerId));
    const oldest = this.#newestEpochs
      .keys()
      .find((id) => id !== controllerId && !connected.has(id));
    if (oldest !== undefined) this.#newestEpochs.delete(oldest);
  }
}
