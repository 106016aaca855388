/** An in-memory S3 server for tests, in this process, with a bucket for each store. */
import { startFauxqs } from "fauxqs";
import type { S3Location } from "../lake-url.ts";

export interface S3TestServer {
  readonly endpoint: string;
  /** A new bucket, with a prefix for the lake. */
  location(endpoint?: string): S3Location;
  close(): Promise<void>;
}

export const testCredentials = { accessKeyId: "test", secretAccessKey: "test" } as const;

export async function startS3Server(): Promise<S3TestServer> {
  const server = await startFauxqs({ port: 0, host: "127.0.0.1", logger: false });
  const endpoint = `http://127.0.0.1:${server.port}`;
  let bucketNext = 1;
  return {
    endpoint,
    location(through = endpoint) {
      const bucket = `lake-${bucketNext}`;
      bucketNext += 1;
      server.createBucket(bucket);
      return { kind: "s3", bucket, prefix: "some/lake", region: undefined, endpoint: through };
    },
    close: () => server.stop(),
  };
}
