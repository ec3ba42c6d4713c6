package org.tarnlake.flink;

import java.io.PrintStream;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import org.apache.flink.client.program.StreamContextEnvironment;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.DefaultExecutorServiceLoader;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.table.gateway.rest.SqlGatewayRestEndpoint;
import org.apache.flink.table.gateway.service.SqlGatewayServiceImpl;
import org.apache.flink.table.gateway.service.context.DefaultContext;
import org.apache.flink.table.gateway.service.session.SessionManager;

/**
 * Flink's SQL gateway and the cluster that runs its jobs, in one process. All ports are free ones of
 * the loopback interface; the gateway's address is the one line that standard output gets, once it
 * answers. The process ends with its standard input, so that it never outlives who started it.
 */
public final class Gateway {
    private static final String LOOPBACK = "127.0.0.1";

    private Gateway() {}

    public static void main(String[] args) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        PrintStream out = System.out;
        System.setOut(System.err); // a library that prints must not be taken for the address
        URI cluster = startCluster();
        Configuration jobs = Configuration.fromMap(Map.of(
                "execution.target", "remote",
                "rest.address", cluster.getHost(),
                "rest.port", String.valueOf(cluster.getPort()),
                "rest.bind-port", "0",
                "parallelism.default", "1"));
        // Else each procedure starts a cluster of its own.
        StreamContextEnvironment.setAsContext(
                new DefaultExecutorServiceLoader(), jobs, Gateway.class.getClassLoader(), false, true);
        SessionManager sessions = SessionManager.create(new DefaultContext(jobs, List.of()));
        sessions.start();
        SqlGatewayRestEndpoint endpoint =
                new SqlGatewayRestEndpoint(loopback(), new SqlGatewayServiceImpl(sessions));
        endpoint.start();
        out.println("http://" + LOOPBACK + ":" + endpoint.getServerAddress().getPort());
        out.flush();
        while (System.in.read() >= 0) {}
        Runtime.getRuntime().halt(0);
    }

    private static URI startCluster() throws Exception {
        Configuration c = loopback();
        c.addAll(Configuration.fromMap(Map.of(
                "taskmanager.memory.managed.size", "64m",
                "taskmanager.memory.network.min", "64m",
                "taskmanager.memory.network.max", "64m")));
        MiniCluster cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(c)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(16)
                .build());
        cluster.start();
        return cluster.getRestAddress().get();
    }

    private static Configuration loopback() {
        return Configuration.fromMap(Map.of(
                "rest.address", LOOPBACK,
                "rest.bind-address", LOOPBACK,
                "rest.port", "0",
                "rest.bind-port", "0"));
    }
}
