import { useEffect, useState } from "react";

/** The database's time, updated once a second, because lags grow while nothing happens. */
export function useDatabaseNow(clockOffsetMs: number): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return nowMs + clockOffsetMs;
}
