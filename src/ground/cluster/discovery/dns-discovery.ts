/**
 * Finds workers by DNS: a Kubernetes headless service, ECS service discovery, or any other DNS
 * name. DNS gives addresses, not worker names, so any worker that answers is accepted.
 *
 * The name is looked up every `intervalMs`. An absent name means no workers. When the resolver
 * fails, the last answer stays valid.
 */

import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import { Loop } from "../../reconcile/index.ts";
import type { Discovery, Target } from "../core/index.ts";

/** The DNS queries of discovery. An absent name is an empty list; every other failure throws. */
export interface DnsResolver {
  srv(name: string): Promise<readonly { readonly host: string; readonly port: number }[]>;
  addresses(name: string): Promise<readonly string[]>;
}

export interface DnsDiscoveryOptions {
  /** `_grpc._tcp.workers.example` (SRV: the ports come from DNS), or a host name with `port`. */
  readonly name: string;
  /** Absent when `name` is an SRV name. */
  readonly port?: number;
  readonly clock: Clock;
  readonly resolver: DnsResolver;
  readonly logger: Logger;
  /** Default 10 s. */
  readonly intervalMs?: number;
}

/** More addresses under one name are a mistake. */
const targetsMax = 10_000;

export function dnsDiscovery(options: DnsDiscoveryOptions): Discovery {
  return new DnsDiscovery(options);
}

class DnsDiscovery implements Discovery {
  readonly adopts = true;
  readonly #options: DnsDiscoveryOptions;
  readonly #loop: Loop;
  #onTargets: ((targets: readonly Target[]) => void) | undefined;
  #told: string | undefined;

  constructor(options: DnsDiscoveryOptions) {
    this.#options = options;
    const { clock, intervalMs: everyMs = 10_000, name } = options;
    this.#loop = new Loop({
      clock,
      logger: options.logger.with({ name }),
      everyMs,
      turn: async () => this.#tell(await this.#resolve()),
      trouble: "DNS did not say where the workers are",
    });
  }

  start(onTargets: (targets: readonly Target[]) => void): void {
    this.#onTargets = onTargets;
    this.#loop.start();
  }

  stop(): void {
    this.#onTargets = undefined;
    void this.#loop.stop();
  }

  async #resolve(): Promise<readonly Target[]> {
    const { name, port, resolver } = this.#options;
    if (port === undefined) {
      const records = await resolver.srv(name);
      return records.map((record) => ({ address: { host: record.host, grpcPort: record.port } }));
    }
    const hosts = await resolver.addresses(name);
    return hosts.map((host) => ({ address: { host, grpcPort: port } }));
  }

  /** Sorts the targets, because the order of DNS answers varies. */
  #tell(found: readonly Target[]): void {
    const byText = new Map(found.map((target) => [JSON.stringify(target), target]));
    const texts = [...byText.keys()].toSorted((a, b) => (a < b ? -1 : 1)).slice(0, targetsMax);
    if (this.#told === texts.join()) return;
    this.#told = texts.join();
    this.#onTargets?.(texts.flatMap((text) => byText.get(text) ?? []));
  }
}
