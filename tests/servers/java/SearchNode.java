import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/**
 * One node of OpenSearch, and the program in front of it; neither is there without the other.
 *
 * <p>{@code SearchNode FOLDER PORT PROGRAM ARGUMENT...}: data go below FOLDER, HTTP is on 127.0.0.1. The same text
 * with {@code org.elasticsearch} in it starts Elasticsearch.
 */
public final class SearchNode extends Node {
    private SearchNode(Settings settings, Path configuration) {
        super(
                InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), configuration, () -> "node"),
                List.of(Netty4Plugin.class),
                false);
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]).toAbsolutePath();
        for (String name : List.of("config", "data", "logs", "modules", "plugins")) {
            Files.createDirectories(home.resolve(name));
        }
        Settings settings = Settings.builder()
                .put("path.home", home.toString())
                .put("path.data", home.resolve("data").toString())
                .put("path.logs", home.resolve("logs").toString())
                .put("cluster.name", "tests")
                .put("node.name", "node")
                .put("discovery.type", "single-node")
                .put("network.host", "127.0.0.1")
                .put("http.port", arguments[1])
                .put("transport.port", "0")
                .put("http.type", "netty4")
                .put("transport.type", "netty4")
                .put("cluster.routing.allocation.disk.threshold_enabled", false)
                .build();
        Node node = new SearchNode(settings, home.resolve("config"));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (Exception error) {
                error.printStackTrace();
            }
        }));
        node.start();
        List<String> front = List.of(arguments).subList(2, arguments.length);
        Process before = new ProcessBuilder(front).inheritIO().start();
        Runtime.getRuntime().addShutdownHook(new Thread(before::destroy));
        System.exit(before.waitFor());
    }
}
