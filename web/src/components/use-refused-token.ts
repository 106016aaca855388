/** Opens the token prompt when a request is refused for its token. */
import { useEffect } from "react";
import { useCluster } from "../api/cluster.ts";
import { ApiError } from "../api/http.ts";

export function useRefusedToken(error: Error | null): void {
  const cluster = useCluster();
  useEffect(() => {
    if (error instanceof ApiError && error.status === 401) cluster.promptForToken("refused");
  }, [error, cluster]);
}
