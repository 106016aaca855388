/** A host of fragments that tells what becomes of them. */
import type {
  FragmentEvents,
  FragmentSpec,
  QueryRun,
} from "../../src/kinds/stream/run/core/index.ts";
import { HereHost } from "../../src/kinds/stream/run/index.ts";
import type { HostProbe } from "../checks/fragments-check.ts";
import type { Life } from "../engine/life.ts";

type HereHostOptions = ConstructorParameters<typeof HereHost>[0];

export class WatchedHost extends HereHost {
  protected readonly life: Life;
  readonly #probe: HostProbe;

  constructor(options: HereHostOptions, life: Life, probe: HostProbe) {
    super(options);
    this.life = life;
    this.#probe = probe;
  }

  override async deploy(
    run: QueryRun,
    specs: readonly FragmentSpec[],
    events: FragmentEvents,
  ): Promise<void> {
    this.#probe.deployed(this.life, run, specs);
    const told: FragmentEvents = {
      acknowledged: (checkpoint, state) => events.acknowledged(checkpoint, state),
      ended: (fragment, ended) => {
        this.#probe.ended(this.life, run, fragment, ended.state);
        events.ended(fragment, ended);
      },
      failed: (fragment, error) => {
        this.#probe.ended(this.life, run, fragment, undefined);
        events.failed(fragment, error);
      },
    };
    try {
      await super.deploy(run, specs, told);
    } catch (thrown) {
      this.#probe.stopped(this.life, run);
      throw thrown;
    }
  }

  override start(run: QueryRun): void {
    this.#probe.started(this.life, run);
    super.start(run);
  }

  override async stop(run: QueryRun): Promise<void> {
    await super.stop(run);
    this.#probe.stopped(this.life, run);
  }
}
