/**
 * One run, live, over one WebSocket. What that does not carry (the minutes before the page was
 * opened, percentiles of single seconds, the start of a long log) is read over HTTP.
 */
import { useCallback, useEffect, useReducer, useRef } from "react";
import { useCluster } from "../../../api/cluster.ts";
import { readLog, readSeconds } from "../../../api/load.ts";
import { RunSocket } from "../../../api/run-socket.ts";
import { lastStoredMs, secondsMax } from "./chart-seconds.ts";
import { isMeasured, type LiveRun, stepLiveRun, unknownRun } from "./live-run.ts";

const storedEveryMs = 3_000;

export interface LiveRunFeed {
  readonly run: LiveRun;
  /** Dials at once instead of waiting for the backoff. */
  readonly reconnect: () => void;
}

export function useLiveRun(runId: string, isOpenEnded: boolean): LiveRunFeed {
  const cluster = useCluster();
  const [run, dispatch] = useReducer(stepLiveRun, unknownRun);
  const socket = useRef<RunSocket>(undefined);
  const latest = useRef(run);
  latest.current = run;

  useEffect(() => {
    const made = new RunSocket({
      runId,
      onUpdate: (update) =>
        dispatch({ kind: "update", update, nowMs: performance.now(), isOpenEnded }),
      onStatus: (status) => dispatch({ kind: "link", status }),
      onUnauthenticated: () => cluster.promptForToken("refused"),
    });
    socket.current = made;
    void made.run();
    const reconnect = (): void => made.wake();
    window.addEventListener("online", reconnect);
    return () => {
      window.removeEventListener("online", reconnect);
      made.stop();
    };
  }, [runId, isOpenEnded, cluster]);

  const isOpen = run.link.kind === "open";
  useEffect(() => {
    if (!isOpen) return undefined;
    const ended = new AbortController();
    const after = latest.current.logs.at(-1)?.sequence ?? 0;
    readLog(runId, after, ended.signal)
      .then((lines) => dispatch({ kind: "logs", lines }))
      .catch(() => undefined); // The socket sends them, too.
    return () => ended.abort();
  }, [runId, isOpen]);

  const phase = run.update?.phase;
  const isKnown = run.update !== undefined;
  useEffect(() => {
    if (!isOpen || !isKnown) return undefined;
    const ended = new AbortController();
    const read = async (): Promise<void> => {
      const { seconds, update } = latest.current;
      const beginMs = Date.parse(update?.timestamp ?? "") - secondsMax * 1_000;
      const rows = await readSeconds(runId, lastStoredMs(seconds) ?? beginMs, ended.signal);
      if (rows.length > 0) dispatch({ kind: "seconds", rows });
    };
    // The next read makes up for it.
    const readQuietly = (): void => void read().catch(() => undefined);
    readQuietly();
    if (phase === undefined || !isMeasured(phase)) return () => ended.abort();
    const timer = setInterval(readQuietly, storedEveryMs);
    return () => {
      clearInterval(timer);
      ended.abort();
    };
  }, [runId, isOpen, isKnown, phase]);

  const reconnect = useCallback(() => socket.current?.wake(), []);
  return { run, reconnect };
}
