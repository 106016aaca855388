/**
 * All control sessions of a process that dials workers: one `controller-session` machine for each
 * target, driven by the clock and the links. Kinds of work use it as `WorkerPool`.
 *
 * Rules: CL6 to CL9 and CL17 to CL22. CL6 is needed because a worker would take a second session
 * for the successor of the first. For CL8, effects wait in a queue that the outermost call drains.
 */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { assert, OperatingError } from "../../kernel/errors.ts";
import type { ControllerId, LeaseEpoch, SessionEpoch, WorkerId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Prng } from "../../kernel/prng.ts";
import {
  nextTickMs,
  openSession,
  type Session,
  type SessionEffect,
  type SessionHappening,
  stepSession,
} from "./controller-session.ts";
import type { Target } from "./discovery.ts";
import type {
  ControllerFrame,
  ControllerRole,
  Envelope,
  GoodbyeReason,
  WorkerFrame,
} from "./frames.ts";
import type { Dialer, Link, WorkerAddress } from "./link.ts";
import type { DisconnectCause, SessionObserver } from "./session-observer.ts";
import { assertTiming, defaultSessionTiming, type SessionTiming } from "./session-timing.ts";
import { type SessionView, viewSession } from "./session-view.ts";
import { type ChannelOffer, protocolVersions } from "./versions.ts";
import type { WorkerListener, WorkerPool, WorkerUp } from "./worker-pool.ts";

export interface SessionPoolOptions {
  readonly clock: Clock;
  readonly prng: Prng;
  readonly dialer: Dialer;
  readonly controllerId: ControllerId;
  readonly role: ControllerRole;
  /** Read at every dial. 0 for a query-api, and for a coordinator that does not hold the lease. */
  readonly leaseEpoch: () => LeaseEpoch;
  /** What this process speaks over its sessions. Listeners take part in them. */
  readonly channels: readonly ChannelOffer[];
  readonly timing?: SessionTiming;
  readonly logger: Logger;
  readonly observer?: Partial<SessionObserver>;
}

/** What the pool keeps for each target. */
interface Entry {
  readonly key: string;
  readonly address: WorkerAddress;
  readonly expected: WorkerId | undefined;
  readonly logger: Logger;
  registration: string | undefined;
  /** The worker that answered here last. */
  seen: WorkerId | undefined;
  session: Session;
  link: Link<Envelope<ControllerFrame>> | undefined;
  timer: { readonly atMs: number; readonly handle: Timer } | undefined;
  downReason: string | undefined;
}

const lossesMax = 1_000;

/** A timer that fires later than that shows that this process is late itself. */
const ownLatenessMs = 20;
/** For how long one deadline may wait because of that. */
const latenessMsMax = 1_000;

export class SessionPool implements WorkerPool {
  readonly #options: SessionPoolOptions;
  readonly #timing: SessionTiming;
  readonly #observer: Partial<SessionObserver>;
  readonly #entries = new Map<string, Entry>();
  /** When each lost worker was lost, by name: a restarted worker may have another port. */
  readonly #lostAtMs = new Map<WorkerId, number>();
  /** Live sessions only (CL6). */
  readonly #live = new Map<WorkerId, Entry>();
  readonly #drainWishes = new Map<WorkerId, boolean>();
  /** Each listener with the workers that it was told are up (CL8). */
  readonly #listeners = new Map<WorkerListener, Set<WorkerId>>();
  readonly #changeListeners = new Set<(workerId: WorkerId) => void>();
  readonly #effects: (readonly [Entry, SessionEffect])[] = [];
  #draining: boolean = false;
  #epoch = 0;
  #closed: boolean = false;

  constructor(options: SessionPoolOptions) {
    this.#options = options;
    this.#timing = options.timing ?? defaultSessionTiming;
    assertTiming(this.#timing);
    this.#observer = options.observer ?? {};
  }

  /** Dials new targets, says goodbye to removed ones, and leaves the others alone. */
  setTargets(targets: readonly Target[]): void {
    if (this.#closed) return;
    const wanted = new Map(targets.map((target) => [targetKey(target), target]));
    for (const entry of [...this.#entries.values()]) {
      if (wanted.has(entry.key)) continue;
      const workerId = workerIdOf(entry);
      const isLive = entry.session.state === "live";
      this.#forget(entry, "shutting_down");
      // Its worker is listed at another address: it restarted there, and the old session is lost.
      const isElsewhere = targets.some((target) => target.workerId === workerId);
      if (isLive && workerId !== undefined && isElsewhere) this.#noteLoss(workerId);
    }
    for (const [key, target] of wanted) {
      const entry = this.#entries.get(key);
      if (entry === undefined) {
        this.#add(key, target);
      } else if (entry.registration !== target.registration) {
        entry.registration = target.registration;
        this.#step(entry, { kind: "poke" });
      }
    }
  }

  /** Dials at once instead of waiting: the worker registered anew, or a caller wants it. */
  poke(which: WorkerId | WorkerAddress): void {
    for (const entry of this.#entries.values()) {
      const meant =
        typeof which === "string"
          ? workerIdOf(entry) === which
          : addressText(entry.address) === addressText(which);
      if (meant) this.#step(entry, { kind: "poke" });
    }
  }

  /**
   * Remembered, and sent to the worker now and at the start of every session. Coordinators only.
   */
  setDraining(workerId: WorkerId, draining: boolean): void {
    assert(this.#options.role === "coordinator", "only a coordinator drains workers");
    if (this.#drainWishes.get(workerId) === draining) return;
    this.#drainWishes.set(workerId, draining);
    this.#sendFrame(workerId, { kind: "setDraining", draining });
  }

  /** Tells a worker that was removed from the cluster to end itself, and forgets its target. */
  drop(workerId: WorkerId): void {
    for (const entry of [...this.#entries.values()]) {
      if (workerIdOf(entry) === workerId) this.#forget(entry, "dropped");
    }
    this.#lostAtMs.delete(workerId);
    this.#drainWishes.delete(workerId);
  }

  views(): readonly SessionView[] {
    return [...this.#entries.values()].map(viewEntry);
  }

  view(workerId: WorkerId): SessionView | undefined {
    const entry =
      this.#live.get(workerId) ??
      this.#entries.values().find((candidate) => workerIdOf(candidate) === workerId);
    return entry === undefined ? undefined : viewEntry(entry);
  }

  /** Called when `view(workerId)` changed for membership. Returns the unsubscriber. */
  onChange(listener: (workerId: WorkerId) => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  listen(listener: WorkerListener): () => void {
    const ups = Array.from(this.#live.values(), upOf).filter((up) => speaks(up, listener.channel));
    this.#listeners.set(listener, new Set(ups.map(({ workerId }) => workerId)));
    for (const up of ups) {
      listener.workerUp?.(up);
      if (this.#listeners.has(listener)) tellFacts(listener, this.#live.get(up.workerId));
    }
    return () => this.#listeners.delete(listener);
  }

  send(workerId: WorkerId, channel: string, payload: Uint8Array): boolean {
    const entry = this.#live.get(workerId);
    if (entry === undefined || !speaks(upOf(entry), channel)) return false; // CL39
    return this.#sendFrame(workerId, { kind: "channel", channel, payload });
  }

  /** Says goodbye to every worker; listeners hear `workerDown`. Final. */
  close(): void {
    this.#closed = true;
    for (const entry of [...this.#entries.values()]) this.#forget(entry, "shutting_down");
  }

  #add(key: string, { address, workerId, registration }: Target): void {
    const { clock, logger } = this.#options;
    const entry: Entry = {
      key,
      address,
      expected: workerId,
      logger: logger.with({ address: addressText(address) }),
      registration,
      seen: undefined,
      session: openSession(clock.nowMs()),
      link: undefined,
      timer: undefined,
      downReason: undefined,
    };
    this.#entries.set(key, entry);
    this.#step(entry, { kind: "tick" });
  }

  #forget(entry: Entry, goodbye: GoodbyeReason): void {
    this.#entries.delete(entry.key);
    this.#step(entry, { kind: "stop", goodbye });
    const workerId = workerIdOf(entry);
    if (workerId === undefined) return;
    const known = this.#entries.values().some((other) => workerIdOf(other) === workerId);
    if (!known) this.#drainWishes.delete(workerId);
  }

  #sendFrame(workerId: WorkerId, frame: ControllerFrame): boolean {
    const entry = this.#live.get(workerId);
    if (entry?.session.state !== "live" || entry.link === undefined) return false;
    return entry.link.send({ epoch: entry.session.epoch, frame });
  }

  #step(entry: Entry, happening: SessionHappening): void {
    const nowMs = this.#timeOf(entry, happening);
    const event = { ...happening, nowMs, random: this.#options.prng.next() };
    const before = entry.session;
    const config = { timing: this.#timing, workerId: entry.expected };
    const [after, effects] = stepSession(before, event, config);
    entry.session = after;
    if (before.state === "live" && after.state !== "live") {
      this.#live.delete(before.welcome.workerId);
    }
    if (before.state !== "live" && after.state === "live") {
      entry.seen = after.welcome.workerId;
      this.#live.set(entry.seen, entry);
    }
    this.#arm(entry);
    for (const effect of effects) this.#effects.push([entry, effect]);
    this.#drain();
  }

  #arm(entry: Entry): void {
    const atMs = nextTickMs(entry.session);
    if (entry.timer?.atMs === atMs) return;
    entry.timer?.handle.cancel();
    if (atMs === undefined) {
      entry.timer = undefined;
      return;
    }
    const { clock } = this.#options;
    this.#wait(entry, atMs, Math.max(atMs, clock.nowMs()));
  }

  /** While this process is late, it reads what has come before it judges anybody [CL42]. */
  #wait(entry: Entry, atMs: number, dueMs: number): void {
    const { clock } = this.#options;
    const handle = clock.after(dueMs - clock.nowMs(), () => {
      const nowMs = clock.nowMs();
      const isLate = nowMs - dueMs > ownLatenessMs && nowMs - atMs < latenessMsMax;
      if (isLate && isUnanswered(entry.session)) {
        this.#wait(entry, atMs, nowMs);
        return;
      }
      entry.timer = undefined; // A timer may fire a little early; the step then arms a new one.
      this.#step(entry, { kind: "tick" });
    });
    entry.timer = { atMs, handle };
  }

  /** What is read while a deadline waits was there before it, as far as anybody can tell. */
  #timeOf({ timer }: Entry, { kind }: SessionHappening): number {
    const nowMs = this.#options.clock.nowMs();
    return kind === "frame" && timer !== undefined ? Math.min(nowMs, timer.atMs) : nowMs;
  }

  #drain(): void {
    if (this.#draining) return; // CL8
    this.#draining = true;
    try {
      for (let next = this.#effects.shift(); next !== undefined; next = this.#effects.shift()) {
        this.#perform(...next);
      }
    } finally {
      this.#draining = false;
    }
  }

  #perform(entry: Entry, effect: SessionEffect): void {
    switch (effect.kind) {
      case "dial":
        this.#dial(entry);
        break;
      case "send":
        entry.link?.send({ epoch: effect.epoch, frame: effect.frame });
        break;
      case "closeLink":
        entry.link?.close(effect.reason);
        entry.link = undefined;
        break;
      case "up":
        this.#announceUp(entry, effect.up);
        break;
      case "down":
        this.#announceDown(entry, effect.cause, effect.reason);
        break;
      case "dialFailed":
        this.#noteFailedDial(entry, effect.cause, effect.reason);
        break;
      case "answered":
        this.#observer.heartbeatAnswered?.(seenIn(entry), effect.rttMs);
        this.#tell(entry, (to) => to.workerHeartbeat?.(seenIn(entry), effect.rttMs));
        break;
      case "missed":
        entry.logger.debug({ worker_id: seenIn(entry) }, "a heartbeat was not answered in time");
        this.#observer.heartbeatMissed?.(seenIn(entry));
        break;
      case "channelFrame":
        this.#hearChannel(entry, effect.channel, effect.payload);
        break;
      case "admission":
        this.#tell(entry, (to) => to.workerAdmission?.(seenIn(entry), effect.admission));
        this.#changed(entry);
        break;
      case "facts":
        this.#tell(entry, (to) => tellFacts(to, entry));
        break;
    }
  }

  #dial(entry: Entry): void {
    if (entry.session.state !== "dialling") return; // Stopped while this waited in the queue.
    const rival = this.#rivalOf(entry, workerIdOf(entry));
    if (rival !== undefined) {
      this.#step(entry, { kind: "conflict", reason: rival }); // CL6
      return;
    }
    const { controllerId, role, leaseEpoch, channels, dialer } = this.#options;
    this.#epoch += 1; // CL7
    const epoch = this.#epoch as SessionEpoch;
    entry.link = dialer.dial(entry.address, {
      onFrame: (envelope) => this.#hear(entry, envelope),
      onClose: (reason) => this.#step(entry, { kind: "linkClosed", epoch, reason }),
    });
    const hello: Extract<ControllerFrame, { kind: "hello" }> = {
      kind: "hello",
      controllerId,
      role,
      leaseEpoch: leaseEpoch(),
      versions: protocolVersions,
      channels,
      ...(entry.expected === undefined ? {} : { workerId: entry.expected }),
    };
    this.#step(entry, { kind: "dialled", epoch, hello });
  }

  #hear(entry: Entry, { epoch, frame }: Envelope<WorkerFrame>): void {
    const { session } = entry;
    if (frame.kind === "welcome" && session.state === "greeting" && session.epoch === epoch) {
      const rival = this.#rivalOf(entry, frame.workerId);
      if (rival !== undefined) {
        entry.seen = frame.workerId;
        this.#step(entry, { kind: "conflict", reason: rival }); // CL6
        return;
      }
    }
    this.#step(entry, { kind: "frame", epoch, frame });
  }

  /** CL9: only an unreadable frame is the worker's fault. */
  #hearChannel(entry: Entry, channel: string, payload: Uint8Array): void {
    try {
      this.#tell(entry, (to) => {
        if (to.channel === channel) to.workerFrame?.(seenIn(entry), payload);
      });
    } catch (thrown) {
      if (!(thrown instanceof OperatingError && thrown.code === "protocol_violation")) throw thrown;
      this.#step(entry, { kind: "violation", what: thrown.message });
    }
  }

  /** Why `entry` must not have a session with `workerId`; undefined when it may. */
  #rivalOf(entry: Entry, workerId: WorkerId | undefined): string | undefined {
    const rival = workerId === undefined ? undefined : this.#live.get(workerId);
    if (rival === undefined || rival === entry) return undefined;
    return `worker ${workerId} is already connected at ${addressText(rival.address)}`;
  }

  #announceUp(entry: Entry, up: WorkerUp): void {
    const { clock } = this.#options;
    const lostAtMs = this.#lostAtMs.get(up.workerId);
    const reconnectMs = lostAtMs === undefined ? undefined : clock.nowMs() - lostAtMs;
    this.#lostAtMs.delete(up.workerId);
    entry.downReason = undefined;
    entry.logger.info(
      { worker_id: up.workerId, incarnation: up.incarnation, reconnect_ms: reconnectMs },
      "worker connected",
    );
    this.#observer.sessionUp?.(up.workerId, reconnectMs);
    this.#observer.streamsActive?.(this.#live.size);
    const draining = this.#drainWishes.get(up.workerId);
    if (draining !== undefined) this.#sendFrame(up.workerId, { kind: "setDraining", draining });
    for (const [listener, known] of [...this.#listeners]) {
      // The listener was added while this waited in the queue, and knows the worker already.
      if (known.has(up.workerId) || !speaks(up, listener.channel)) continue;
      known.add(up.workerId);
      listener.workerUp?.(up);
    }
    this.#changed(entry);
  }

  /**
   * Forgets the oldest losses: workers that get new names at each start would accumulate for ever.
   */
  #noteLoss(workerId: WorkerId): void {
    this.#lostAtMs.delete(workerId);
    this.#lostAtMs.set(workerId, this.#options.clock.nowMs());
    const [oldest] = this.#lostAtMs.keys();
    if (this.#lostAtMs.size > lossesMax && oldest !== undefined) this.#lostAtMs.delete(oldest);
  }

  #announceDown(entry: Entry, cause: DisconnectCause, reason: string): void {
    const workerId = seenIn(entry);
    entry.downReason = reason;
    if (cause !== "stopped") this.#noteLoss(workerId);
    const fields = { worker_id: workerId, cause, reason };
    if (cause === "stopped") entry.logger.info(fields, "worker disconnected");
    else entry.logger.warn(fields, "worker lost");
    this.#observer.sessionDown?.(workerId, cause);
    this.#observer.streamsActive?.(this.#live.size);
    this.#tell(entry, (to, known) => {
      known.delete(workerId);
      to.workerDown?.(workerId, reason);
    });
    this.#changed(entry);
  }

  #noteFailedDial(entry: Entry, cause: DisconnectCause, reason: string): void {
    this.#observer.dialFailed?.(cause);
    if (entry.downReason === reason) return; // Reported already.
    entry.downReason = reason;
    const fields = { worker_id: workerIdOf(entry), cause, reason };
    if (cause === "link_lost") entry.logger.info(fields, "worker not reached");
    else entry.logger.warn(fields, "worker not reached");
    this.#changed(entry);
  }

  /** Calls every current listener that knows the worker to be up (CL8). */
  #tell(entry: Entry, say: (to: WorkerListener, known: Set<WorkerId>) => void): void {
    for (const [listener, known] of [...this.#listeners]) {
      if (this.#listeners.has(listener) && known.has(seenIn(entry))) say(listener, known);
    }
  }

  #changed(entry: Entry): void {
    const workerId = workerIdOf(entry);
    if (workerId === undefined) return;
    for (const listener of [...this.#changeListeners]) listener(workerId);
  }
}

function viewEntry(entry: Entry): SessionView {
  return viewSession(entry.address, workerIdOf(entry), entry.session, entry.downReason);
}

function workerIdOf(entry: Entry): WorkerId | undefined {
  return entry.expected ?? entry.seen;
}

/** As they are now, so that what waited in the queue tells nobody older ones. */
function tellFacts(to: WorkerListener, entry: Entry | undefined): void {
  if (entry?.session.state !== "live") return;
  const { facts, factsVersion, welcome } = entry.session;
  to.workerFacts?.(welcome.workerId, facts, factsVersion);
}

function seenIn(entry: Entry): WorkerId {
  assert(entry.seen !== undefined, "a target that had a session has seen a worker");
  return entry.seen;
}

function upOf(entry: Entry): WorkerUp {
  assert(entry.session.state === "live", "only a live session is replayed");
  const { admission } = entry.session;
  const { workerId, incarnation, channels } = entry.session.welcome;
  return { workerId, incarnation, admission, channels };
}

/** Whether the session carries `channel`; every session carries undefined. */
function speaks({ channels }: WorkerUp, channel: string | undefined): boolean {
  return channel === undefined || channels.has(channel);
}

function addressText({ host, grpcPort }: WorkerAddress): string {
  return host.includes(":") ? `[${host}]:${grpcPort}` : `${host}:${grpcPort}`;
}

function isUnanswered(session: Session): boolean {
  return session.state === "live" && session.heartbeat.phase === "unanswered";
}

function targetKey({ address, workerId }: Target): string {
  return `${addressText(address)}/${workerId ?? ""}`;
}
