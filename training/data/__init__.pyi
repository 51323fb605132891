from training.data.batching.batches import Batch as Batch
from training.data.batching.batches import Data as Data
from training.data.batching.batches import MicroBatches as MicroBatches
from training.data.preparation import prepare as prepare
