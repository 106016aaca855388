import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/**
 * Flink's SQL in one process with one slot. Each line of the input is a job: statements between form
 * feeds, the last of which inserts. The answer is the CPU time of all threads until the job ended, in
 * milliseconds, or `error` and the cause.
 */
public class FlinkRun {
  public static void main(String[] arguments) throws Exception {
    var process =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    var input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      System.out.println(answer(line.split("\f"), process));
      System.out.flush();
    }
  }

  private static String answer(
      String[] statements, com.sun.management.OperatingSystemMXBean process) {
    try {
      var tables = TableEnvironment.create(settings());
      for (int at = 0; at < statements.length - 1; at += 1) tables.executeSql(statements[at]);
      long before = process.getProcessCpuTime();
      tables.executeSql(statements[statements.length - 1]).await();
      return String.valueOf((process.getProcessCpuTime() - before) / 1e6);
    } catch (Exception thrown) {
      Throwable cause = thrown;
      while (cause.getCause() != null) cause = cause.getCause();
      return "error " + String.valueOf(cause.getMessage()).replace('\n', ' ');
    }
  }

  private static EnvironmentSettings settings() {
    var configuration = new Configuration();
    configuration.setString("parallelism.default", "1");
    configuration.setString("table.local-time-zone", "UTC");
    configuration.setString("taskmanager.memory.managed.size", "512m");
    return EnvironmentSettings.newInstance()
        .inStreamingMode()
        .withConfiguration(configuration)
        .build();
  }
}
