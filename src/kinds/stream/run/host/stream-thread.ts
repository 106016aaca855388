/** A stream thread: it hosts fragments of any number of queries. */
import "../../language/index.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { createSystemPrng } from "../../../../ground/kernel/node/system-random.ts";
import { servePeer } from "../../../../ground/threads/index.ts";
import { DialectError } from "../../language/core/index.ts";
import { type FragmentEvents, type QueryRun, runName } from "../core/stream-host.ts";
import { EdgeHub, edgePath } from "../exchange/edge-hub.ts";
import { ExchangeClient } from "../exchange/exchange-client.ts";
import { openRingIn, openRingOut } from "../exchange/ring.ts";
import { createLocalConnectors } from "../local/local-connectors.ts";
import { HereHost } from "./here-host.ts";
import { askLake } from "./lake-talk.ts";
import { StreamMemory } from "./stream-memory.ts";
import {
  type StreamThread,
  type StreamThreadOptions,
  type StreamThreadOwner,
  streamThreadErrors,
} from "./stream-talk.ts";
import { askSystem } from "./system-talk.ts";

/** The fragments of a run here that have not ended, and who waits for them. */
interface Running {
  left: number;
  readonly over: ReturnType<typeof Promise.withResolvers<undefined>>;
}

servePeer<StreamThread, StreamThreadOptions, StreamThreadOwner>((options, owner) => {
  const { sourceDir, sinkDir, exchange, lakeStagingDir: stagingDir } = options;
  const clock = realClock;
  const client = exchange === undefined ? undefined : new ExchangeClient({ ...exchange, clock });
  const host = new HereHost({
    connectors: createLocalConnectors({
      sourceDir,
      sinkDir,
      confined: options.confined,
      ...(stagingDir !== undefined && {
        lake: { calls: askLake(owner), stagingDir, clock, prng: createSystemPrng() },
      }),
      system: askSystem(owner),
      print: (sink, text) => owner.ask("print", { sink, text }),
      preview: {
        clock,
        giverOf: (run) => ({
          open: () => owner.ask("openPreview", run),
          give: (piece) => owner.ask("givePreview", { run, ...piece }),
          end: () => owner.ask("endPreview", run),
        }),
      },
      tell: (text) => owner.tell("told", text),
    }),
    clock,
    hub: new EdgeHub(),
    sendTo: (address, name) => {
      if (client !== undefined) return client.send(address, name);
      throw new DialectError(4001, `this process has no exchange with ${address}`);
    },
    memory: new StreamMemory(options.memory),
  });
  const running = new Map<string, Running>();

  /** Whatever ends a run here, `start` answers. */
  const stop = async (run: QueryRun): Promise<undefined> => {
    await host.stop(run);
    running.get(runName(run))?.over.resolve(undefined);
    running.delete(runName(run));
    return undefined;
  };

  return {
    requests: {
      deploy: async ({ run, specs, rings, pages }) => {
        const over = Promise.withResolvers<undefined>();
        over.promise.catch(() => undefined); // `start` may come later.
        const here: Running = { left: specs.length, over };
        running.set(runName(run), here);
        const events: FragmentEvents = {
          acknowledged: (checkpoint, state) =>
            owner.tell("acknowledged", { run, checkpoint, state }),
          ended: (fragment, ended) => {
            owner.tell("ended", { run, fragment, ended });
            here.left -= 1;
            if (here.left === 0) over.resolve(undefined);
          },
          failed: (_, error) => over.reject(error),
        };
        try {
          await host.deploy(run, specs, events, {
            pages,
            out: (name) => {
              const ring = rings.get(edgePath(name));
              return ring === undefined ? undefined : openRingOut(ring);
            },
            in: (name) => {
              const ring = rings.get(edgePath(name));
              return ring === undefined ? undefined : openRingIn(ring);
            },
          });
        } catch (thrown) {
          running.delete(runName(run));
          throw thrown;
        }
        return undefined;
      },
      start: async (run) => {
        const here = running.get(runName(run));
        host.start(run);
        return await here?.over.promise;
      },
      progress: (run) => host.progress(run),
      stop,
      measures: () => client?.measures() ?? [],
    },
    notes: {
      drain: ({ run, suspend }) => host.drain(run, suspend),
      trigger: ({ run, checkpoint }) => host.trigger(run, checkpoint),
      completed: ({ run, checkpoint }) => host.completed(run, checkpoint),
    },
    stopping: async () => {
      await host.close();
      for (const { over } of running.values()) over.resolve(undefined);
    },
    close: () => client?.close(),
  };
}, streamThreadErrors);
